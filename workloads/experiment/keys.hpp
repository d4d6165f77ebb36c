// The table of experiment keys. Each entry binds a key to its field, with the values that it accepts and its
// meaning; type and default are those of the field. Reading, JSON, YAML, suggestions and help use this
// table.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// The catalogue that lists the names of a key.
enum class Names : std::uint8_t {
  none,
  model,
  dataset,
  sync,
  collective,
  compression,
  sharding,
  cache,
  trace_cache,  ///< of `tandem cache`; not a key
  split,
  sampling,
  lifetime,
  checkpointing,
  recovery,
  provisioning
};

/// The values of a key, within its type.
struct Accepts {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool without_minimum = false;  ///< the minimum itself is not accepted
  bool without_maximum = false;  ///< the maximum itself is not accepted
  Names names = Names::none;
  bool file_path = false;  ///< relative paths start at the experiment's folder, or at the working directory
  std::string zero = {};   ///< a word that means 0
  std::string file_ending = {};  ///< names with this ending are file paths
  std::string needed_file =
      {};  ///< "a platform file": must be there when the experiment is read; empty: need not
  std::string options = {};     ///< of names: the key with the options of what is named ("sync.options")
  bool tensors = false;         ///< a list of tensors (tensor_list.hpp), or one path of a file with them
  bool buckets = false;         ///< a list of measured buckets (measured_buckets.hpp)
  std::string percent_of = {};  ///< of a percentage: what all of it is

  bool is_path(const std::string& text) const {
    return file_path || (!file_ending.empty() && text.ends_with(file_ending));
  }
};

/// An enum of policies/vocabulary/choices.hpp, without its type.
class ChoiceField {
 public:
  template <NamedChoice Choice>
  explicit ChoiceField(Choice* field)
      : field_(field),
        names_([] {
          std::vector<std::string> names;
          for (const auto& choice : choice_names<Choice>) names.emplace_back(choice.name);
          return names;
        }),
        get_([](const void* any) { return to_text(*static_cast<const Choice*>(any)); }),
        set_([](void* any, const std::string& name) {
          const auto choice = parse_choice<Choice>(name);
          if (choice) *static_cast<Choice*>(any) = *choice;
          return choice.has_value();
        }) {}

  const void* address() const { return field_; }
  std::vector<std::string> names() const { return names_(); }
  std::string get() const { return get_(field_); }
  /// False, and the field is as before, when no value has this name.
  [[nodiscard]] bool set(const std::string& name) const { return set_(field_, name); }

 private:
  void* field_;
  std::vector<std::string> (*names_)();
  std::string (*get_)(const void* field);
  bool (*set_)(void* field, const std::string& name);
};

/// Values of two types, each in a field of its own. The second one counts unless it is 0.
struct Either {
  std::variant<ChoiceField, Bytes*> first;
  std::variant<int*, Percent*> second;
};

using OptionValues = std::map<std::string, OptionValue>;
using Variants = std::map<std::string, nlohmann::json>;
/// The field of a key; its type is the type of the key.
using Field =
    std::variant<std::string*, bool*, int*, std::int64_t*, std::uint64_t*, double*, Bytes*, Seconds*, Flops*,
                 ChoiceField, Either, std::vector<std::string>*, OptionValues*, Variants*>;

/// The jobs of one experiment that must have the same value.
enum class Shared : std::uint8_t { by_none, with_caches, by_all_jobs };

struct ExperimentKey {
  std::string path;  ///< "workload.batch"
  Field (*field)(Experiment&);
  Accepts accepts;
  std::string summary;
  Shared shared = Shared::by_none;
};

/// All keys in the order in which files list them; keys of one section follow each other.
const std::vector<ExperimentKey>& experiment_keys();
/// The key of a path; of "sync.options.h" it is "sync.options". Null when unknown.
const ExperimentKey* find_experiment_key(const std::string& path);
/// True for "sync" of "sync.algorithm".
bool is_experiment_section(const std::string& path);
/// "integer >= 1", "size >= 0 (like 4MiB)", "server | all-reduce".
std::string describe_type(const ExperimentKey& key);
/// Sets the field. False when the value has another type or is out of bounds; the field is then unspecified.
[[nodiscard]] bool assign(const ExperimentKey& key, Experiment& experiment, const nlohmann::json& value);
/// The value of a key as JSON: sizes, times and amounts of work as plain numbers, variants left as stored.
nlohmann::json key_value(const ExperimentKey& key, const Experiment& experiment);
/// The same with units, as people write it: "4MiB", "10s".
nlohmann::json written_value(const ExperimentKey& key, const Experiment& experiment);
/// The value of a bare word: true, false, a number, or text.
nlohmann::json plain_scalar(const std::string& text);
/// True when a value of the key is always text, even if it looks like a number.
bool takes_text(const ExperimentKey& key);

/// An option's value as JSON and back. Pre: `value` is a scalar.
nlohmann::json option_to_json(const OptionValue& value);
OptionValue option_from_json(const nlohmann::json& value);

}  // namespace tandem
