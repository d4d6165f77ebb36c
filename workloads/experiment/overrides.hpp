// Layers of given values (a file, the overrides, a variant), applied one over the other with errors that say
// where. Knows nothing of files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// One value given by a user, and where.
struct Given {
  std::string place;    ///< "lab.yaml:7", "--set"
  std::string variant;  ///< that overrides the key; empty: the experiment itself
  std::string path;     ///< empty in a variant: the variant exists
  nlohmann::json value;
  /// "sync.algorithm", "variants.asp.sync.algorithm".
  std::string label() const;
};

/// Applies one layer (a file, the overrides, a variant) over what is there, in the order of the table, so
/// that the order of the givens does not matter. Options are dropped when the algorithm that they belong to
/// changes. Errors: ConfigError naming place, key, expected and found.
void apply_givens(Experiment& experiment, std::vector<Given> givens);

/// Lets a layer for the experiment itself also override the variants that set its keys. Returns what it gave
/// to them. Errors: as apply_givens.
std::vector<Given> override_variants(Experiment& experiment, const std::vector<Given>& layer);

/// The overrides of a stored variant, all with `place`.
std::vector<Given> givens_of_variant(const Experiment& experiment, const std::string& variant,
                                     const std::string& place);

/// "PLACE: key 'a.b': expected EXPECTED, found FOUND".
[[noreturn]] void refuse(const std::string& place, const std::string& label, const std::string& expected,
                         const std::string& found);
/// "PLACE: unknown key 'a.b'; did you mean 'a.c'?"
[[noreturn]] void refuse_unknown(const Given& given);
/// A value as an error message quotes it: "'64'", "a list", "nothing".
std::string quote(const nlohmann::json& value);

}  // namespace tandem
