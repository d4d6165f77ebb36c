// Layers of assignments (a file, the overrides, a variant), applied one over the other. Errors name the place
// of the assignment. Reads no files.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {

/// A key and the value that a user gave it, with the place.
struct Assignment {
  std::string place;    ///< "lab.yaml:7", "--set"
  std::string variant;  ///< the variant that overrides the key; empty: the experiment itself
  std::string path;     ///< "sync.algorithm"; empty in a variant: only declares the variant
  nlohmann::json value;
  /// The job that overrides the key, in a file of several jobs; empty: none. Its path is empty where it only
  /// declares the job.
  std::string job = {};
  /// It replaces a policy also by one of the same name: the options that come with it are complete.
  bool drops_options = false;
  /// It comes with another value (an option with the file of a model, a key with a preset): it overrides no
  /// variant and no job.
  bool is_implied = false;
  /// "sync.algorithm", "variants.asp.sync.algorithm", "jobs.speech.sync.algorithm".
  std::string label() const;
};

/// Whether what `key` names (an algorithm, a policy, ...) has an option. What no catalogue has, has any.
using HasOption =
    std::function<bool(const ExperimentKey& key, const std::string& name, const std::string& option)>;
bool has_any_option(const ExperimentKey& key, const std::string& name, const std::string& option);

// An assignment may replace a policy by another one. Then a layer (the experiment, a variant, a job) loses
// options of the old policy. If the layer itself names that policy, it loses all of them. Otherwise it loses
// those that the new policy does not have. Options that the old policy does not have stay: they belong to
// the new one, or are mistyped, which is then an error.

/// Applies one layer (a file, the overrides, a variant) to the experiment. Keys are set in the order of the
/// table of keys, so the order of the assignments does not matter. Errors: ConfigError naming place, key,
/// expected and found.
void apply_assignments(Experiment& experiment, std::vector<Assignment> assignments,
                       const HasOption& has_option = has_any_option);

/// Applies a layer also to the variants: where a variant sets a key of the layer, or names a policy that has
/// an option of the layer, it gets the layer's value. Returns the assignments to variants. Pre: the layer is
/// not yet applied to the experiment. Errors: as apply_assignments.
std::vector<Assignment> override_variants(Experiment& experiment, const std::vector<Assignment>& layer,
                                          const HasOption& has_option);

/// The same for the keys of jobs over an experiment and its variant (empty: none), and for the layer's
/// assignments to jobs, which are added. Pre: the layer is not yet applied to the experiment or its
/// variants.
void override_jobs(std::vector<Assignment>& of_jobs, const Experiment& experiment, const std::string& variant,
                   const std::vector<Assignment>& layer, const HasOption& has_option);

/// The overrides of a stored variant; each with `place`.
std::vector<Assignment> assignments_of_variant(const Experiment& experiment, const std::string& variant,
                                               const std::string& place);

/// Checks the name of a variant or a job, which is also the name of a folder. Errors: ConfigError.
void check_name(const std::string& place, const std::string& label, const std::string& name);

/// "PLACE: key 'a.b': expected EXPECTED, found FOUND".
[[noreturn]] void fail(const std::string& place, const std::string& label, const std::string& expected,
                       const std::string& found);
/// "PLACE: unknown key 'a.b'; did you mean 'a.c'?"
[[noreturn]] void fail_unknown(const Assignment& assignment);
/// The value as error messages show it: "'64'", "a list", "nothing".
std::string quote(const nlohmann::json& value);

}  // namespace tandem
