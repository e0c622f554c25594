# Run by `cmake --install`: writes the manual pages and the shell completion,
# which the tool prints. Arguments: TOOL, PREFIX.

execute_process(COMMAND ${TOOL} manual OUTPUT_VARIABLE overview
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${PREFIX}/share/man/man1/commute.1 "${overview}")
# The overview refers to the page of each command.
string(REGEX MATCHALL "\\.BR commute[^ ]+ \\(1\\)" references "${overview}")
foreach(reference IN LISTS references)
  string(REGEX REPLACE ".*-([a-z]+) .*" "\\1" command "${reference}")
  execute_process(COMMAND ${TOOL} manual ${command}
                  OUTPUT_FILE ${PREFIX}/share/man/man1/commute-${command}.1
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()

foreach(completion bash=bash-completion/completions/commute
                   zsh=zsh/site-functions/_commute
                   fish=fish/vendor_completions.d/commute.fish)
  string(REPLACE "=" ";" completion ${completion})
  list(POP_FRONT completion shell)
  execute_process(COMMAND ${TOOL} completion ${shell} OUTPUT_VARIABLE script
                  COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${PREFIX}/share/${completion} "${script}")
endforeach()
