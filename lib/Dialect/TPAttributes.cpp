//===- TPAttributes.cpp - attributes of the tp dialect ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GroupStorage.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commute::tp;

#include "commute/Dialect/TPEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "commute/Dialect/TPAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "commute/Dialect/TPTypes.cpp.inc"

void TPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "commute/Dialect/TPAttributes.cpp.inc"
      >();
}

void TPDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "commute/Dialect/TPTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  SmallVector<StringAttr> names;
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  if (parser.parseLess())
    return {};
  auto parseSymbol = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    names.push_back(StringAttr::get(context, name));
    symbols.emplace_back(name, getAffineSymbolExpr(symbols.size(), context));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare,
                                     parseSymbol))
    return {};
  auto parseList = [&](SmallVectorImpl<AffineExpr> &list) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseAffineExpr(symbols, list.emplace_back());
    });
  };
  SmallVector<AffineExpr> sizes, strides;
  bool knowsStrides = true;
  bool expectStrides = true;
  if (succeeded(parser.parseOptionalKeyword("sizes"))) {
    if (parser.parseEqual() || parseList(sizes))
      return {};
    expectStrides = succeeded(parser.parseOptionalComma());
  }
  if (expectStrides) {
    if (parser.parseKeyword("strides") || parser.parseEqual())
      return {};
    if (succeeded(parser.parseOptionalQuestion()))
      knowsStrides = false;
    else if (parseList(strides))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(location, context, names, sizes, strides,
                                       knowsStrides);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  llvm::raw_ostream &os = printer.getStream();
  os << '<';
  if (!getSymbols().empty()) {
    os << '[';
    llvm::interleaveComma(getSymbols(), os,
                          [&](StringAttr name) { os << name.getValue(); });
    os << "] ";
  }
  auto printList = [&](ArrayRef<AffineExpr> list) {
    os << '[';
    llvm::interleaveComma(list, os, [&](AffineExpr expression) {
      printSize(os, expression, getSymbols());
    });
    os << ']';
  };
  if (!getSizes().empty()) {
    os << "sizes = ";
    printList(getSizes());
    if (!getStrides().empty() || !getKnowsStrides())
      os << ", ";
  }
  if (!getKnowsStrides()) {
    os << "strides = ?";
  } else if (!getStrides().empty()) {
    os << "strides = ";
    printList(getStrides());
  }
  os << '>';
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> symbols,
                                 ArrayRef<AffineExpr> sizes,
                                 ArrayRef<AffineExpr> strides,
                                 bool knowsStrides) {
  if (sizes.empty() && strides.empty() && knowsStrides)
    return emitError() << "a layout must state sizes or strides; a static "
                          "dense tensor has no layout";
  if (!knowsStrides && !strides.empty())
    return emitError() << "strides cannot be both stated and unknown";
  auto usesOtherSymbols = [&](AffineExpr expression) {
    bool found = false;
    expression.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        found |= symbol.getPosition() >= symbols.size();
      found |= isa<AffineDimExpr>(part);
    });
    return found;
  };
  if (llvm::any_of(sizes, usesOtherSymbols) ||
      llvm::any_of(strides, usesOtherSymbols))
    return emitError() << "an expression uses a symbol that is not listed";
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (!getStrides().empty() && getStrides().size() != shape.size())
    return emitError() << "layout has " << getStrides().size()
                       << " strides for a tensor of rank " << shape.size();
  if (getSizes().empty()) {
    if (llvm::any_of(shape, ShapedType::isDynamic))
      return emitError() << "a tensor with dynamic dims needs `sizes` in its "
                            "layout";
    return success();
  }
  if (getSizes().size() != shape.size())
    return emitError() << "layout has " << getSizes().size()
                       << " sizes for a tensor of rank " << shape.size();
  for (auto [dim, expected, size] : llvm::enumerate(shape, getSizes())) {
    std::optional<int64_t> constant = getConstant(size);
    if (ShapedType::isDynamic(expected) ? constant.has_value()
                                        : constant != expected)
      return emitError() << "layout and shape have different sizes for dim "
                         << dim;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

PlacementAttr PlacementAttr::getReplicated(MLIRContext *context) {
  return get(context, PlacementKind::Replicated, 0, ReductionKind::Sum);
}

PlacementAttr PlacementAttr::getShard(MLIRContext *context, int64_t dim) {
  return get(context, PlacementKind::Shard, dim, ReductionKind::Sum);
}

PlacementAttr PlacementAttr::getPartial(MLIRContext *context,
                                        ReductionKind reduction) {
  return get(context, PlacementKind::Partial, 0, reduction);
}

PlacementAttr PlacementAttr::getVarying(MLIRContext *context) {
  return get(context, PlacementKind::Varying, 0, ReductionKind::Sum);
}

PlacementAttr PlacementAttr::parseText(MLIRContext *context, StringRef text) {
  text = text.trim();
  if (text == "replicated")
    return getReplicated(context);
  if (text == "varying")
    return getVarying(context);
  if (!text.consume_back(")"))
    return {};
  if (text.consume_front("shard(")) {
    int64_t dim;
    if (text.trim().getAsInteger(10, dim) || dim < 0)
      return {};
    return getShard(context, dim);
  }
  if (text.consume_front("partial("))
    if (std::optional<ReductionKind> kind = symbolizeReductionKind(text.trim()))
      return getPartial(context, *kind);
  return {};
}

std::string PlacementAttr::getText() const {
  std::string text = stringifyPlacementKind(getKind()).str();
  if (getKind() == PlacementKind::Shard)
    text += "(" + std::to_string(getDim()) + ")";
  if (getKind() == PlacementKind::Partial)
    text += "(" + stringifyReductionKind(getReduction()).str() + ")";
  return text;
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::string text = keyword.str();
  if (succeeded(parser.parseOptionalLParen())) {
    int64_t dim;
    OptionalParseResult isDim = parser.parseOptionalInteger(dim);
    StringRef kind;
    if (isDim.has_value()) {
      if (failed(*isDim))
        return {};
      text += "(" + std::to_string(dim) + ")";
    } else {
      if (parser.parseKeyword(&kind))
        return {};
      text += "(" + kind.str() + ")";
    }
    if (parser.parseRParen())
      return {};
  }
  if (parser.parseGreater())
    return {};
  PlacementAttr placement = parseText(parser.getContext(), text);
  if (!placement)
    parser.emitError(location)
        << "'" << text
        << "' is not a placement; expected replicated, shard(DIM), "
           "partial(sum|avg|max|min|product) or varying";
  return placement;
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << '<' << getText() << '>';
}

LogicalResult
PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      PlacementKind kind, int64_t dim,
                      ReductionKind reduction) {
  if (dim < 0)
    return emitError() << "the dim of a shard must not be negative, but is "
                       << dim;
  // Unused parameters must have their default values, so that equal placements
  // are equal attributes.
  if (kind != PlacementKind::Shard && dim != 0)
    return emitError() << "only a shard placement has a dim";
  if (kind != PlacementKind::Partial && reduction != ReductionKind::Sum)
    return emitError() << "only a partial placement has a reduction";
  return success();
}
