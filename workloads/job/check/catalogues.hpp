// All catalogues of names in one form, without their factories: to check names, and for help and lists.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {

using NameCatalog = Catalog<std::monostate>;

/// Models include "synthetic" (given by its sizes) and "FILE.pt" (any such file); collectives include
/// "native" and "auto". Pre: not Names::none.
NameCatalog catalogue_of(Names names);

/// The entry's name in the text of a key: that of a model is without its options ("resnet-cifar" of
/// "resnet-cifar:blocks=2-3-3").
std::string entry_name(Names names, const std::string& text);

/// How an experiment can use something that the catalogue does not have; empty: it cannot.
std::string way_without_catalogue(Names names);

}  // namespace tandem
