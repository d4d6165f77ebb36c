// All catalogues of names in one shape, without their factories: for checking names, for help and for lists.
#pragma once

#include <variant>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {

using NameCatalog = Catalog<std::monostate>;

/// Model names include "synthetic", the model given by its sizes, and "FILE.pt", which stands for files;
/// collectives include "auto", a choice of one.
/// Pre: not Names::none.
NameCatalog catalogue_of(Names names);

}  // namespace tandem
