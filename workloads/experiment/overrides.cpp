#include "workloads/experiment/overrides.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// What other programs call a key, in lower case without punctuation.
struct Synonym {
  const char* word;
  const char* path;
};
constexpr Synonym synonyms[] = {{"targetaccuracy", "stop.accuracy"},
                                {"accuracy", "stop.accuracy"},
                                {"earlystopping", "stop.accuracy"},
                                {"epochs", "stop.epochs"},
                                {"numepochs", "stop.epochs"},
                                {"nepochs", "stop.epochs"},
                                {"maxepochs", "stop.epochs"},
                                {"rounds", "stop.rounds"},
                                {"iterations", "stop.rounds"},
                                {"steps", "stop.rounds"},
                                {"maxsteps", "stop.rounds"},
                                {"timelimit", "stop.seconds"},
                                {"lr", "optimizer.learning_rate"},
                                {"stepsize", "optimizer.learning_rate"},
                                {"batchsize", "workload.batch"},
                                {"bs", "workload.batch"},
                                {"minibatch", "workload.batch"},
                                {"net", "workload.model"},
                                {"architecture", "workload.model"},
                                {"arch", "workload.model"},
                                {"dtype", "workload.precision"},
                                {"workers", "placement.workers"},
                                {"numworkers", "placement.worker_count"},
                                {"nworkers", "placement.worker_count"},
                                {"worldsize", "placement.worker_count"},
                                {"hosts", "placement.workers"},
                                {"nodes", "placement.workers"},
                                {"ps", "placement.servers"},
                                {"parameterservers", "placement.servers"},
                                {"strategy", "sync.algorithm"},
                                {"synchronisation", "sync.algorithm"},
                                {"synchronization", "sync.algorithm"},
                                {"allreduce", "sync.collective"},
                                {"weightdecay", "optimizer.weight_decay"},
                                {"l2", "optimizer.weight_decay"},
                                {"cachesize", "data.cache_capacity"},
                                {"evalevery", "evaluate_every"},
                                {"evaluationinterval", "evaluate_every"},
                                {"randomseed", "seed"},
                                {"cluster", "platform"}};

/// The key that the last part of a path means elsewhere; empty when it is no known word.
std::string meaning_of(const std::string& path) {
  std::string word;
  for (const unsigned char letter : last_part(path))
    if (std::isalnum(letter) != 0) word += static_cast<char>(std::tolower(letter));
  const auto found =
      std::ranges::find(synonyms, word, [](const Synonym& one) { return std::string_view(one.word); });
  return found == std::end(synonyms) ? "" : found->path;
}

// For a map, the nearest section. Otherwise the key that other programs call so, then the one that has the
// same last part (in any section), then one that begins with the text, then the nearest path, then the path
// with the nearest last part.
std::string nearest_key(const Assignment& assignment) {
  std::vector<std::string> paths;
  std::vector<std::string> lasts;
  for (const auto& key : experiment_keys()) {
    const std::string section = key.path.substr(0, key.path.find('.'));
    if (assignment.value.is_object() && (paths.empty() || paths.back() != section)) paths.push_back(section);
    if (assignment.value.is_object()) continue;
    paths.push_back(key.path);
    lasts.push_back(last_part(key.path));
  }
  const auto path_of = [&](const std::string& last) {
    const auto at = std::find(lasts.begin(), lasts.end(), last);
    return at == lasts.end() ? std::string() : paths[static_cast<std::size_t>(at - lasts.begin())];
  };
  if (const auto meant = meaning_of(assignment.path); !meant.empty() && !assignment.value.is_object())
    return meant;
  if (const auto same = path_of(last_part(assignment.path)); !same.empty()) return same;
  for (const auto& path : paths)
    if (path.starts_with(assignment.path)) return path;
  if (const auto near = nearest_name(assignment.path, paths); !near.empty()) return near;
  return path_of(nearest_name(last_part(assignment.path), lasts));
}

std::size_t position(const Assignment& assignment) {
  const auto& keys = experiment_keys();
  const auto* key = find_experiment_key(assignment.path);
  return key == nullptr ? keys.size() : static_cast<std::size_t>(key - keys.data());
}

// "h" for "sync.options.h"; empty for the whole key.
std::string member_of(const ExperimentKey& key, const Assignment& assignment) {
  return assignment.path.size() > key.path.size() ? assignment.path.substr(key.path.size() + 1)
                                                  : std::string();
}

void apply_one(const ExperimentKey& key, Experiment& experiment, const Assignment& assignment) {
  const std::string member = member_of(key, assignment);
  const Json value = member.empty() ? assignment.value : Json{{member, assignment.value}};
  if (assign(key, experiment, value)) return;
  const bool is_option = !member.empty();
  const std::string expected = is_option ? "true, false, a number or text" : describe_type(key);
  fail(assignment.place, assignment.label(), expected, quote(assignment.value));
}

// Stores the override as plain numbers, so that the experiment is the same after writing and reading it.
void store_override(Experiment& experiment, const Assignment& assignment) {
  check_name(assignment.place, "variants", assignment.variant);
  auto& overrides = experiment.variants[assignment.variant];
  if (overrides.is_null()) overrides = Json::object();
  if (assignment.path.empty()) {
    if (!assignment.value.is_null() && !(assignment.value.is_object() && assignment.value.empty()))
      fail(assignment.place, assignment.label(), "a map of keys", quote(assignment.value));
    return;
  }
  const auto* key = find_experiment_key(assignment.path);
  if (key->path == "name" || key->path == "variants")
    fail(assignment.place, assignment.label(), "a key that variants can override", quote(key->path));
  Experiment scratch;
  apply_one(*key, scratch, assignment);
  const Json value = key_value(*key, scratch);
  const std::string member = member_of(*key, assignment);
  // A map of no options overrides nothing.
  if (member.empty() && value.is_object() && value.empty()) return;
  overrides[assignment.path] = member.empty() ? value : value.at(member);
}

std::vector<const ExperimentKey*> keys_with_options() {
  std::vector<const ExperimentKey*> keys;
  for (const auto& key : experiment_keys())
    if (!key.accepts.options.empty()) keys.push_back(&key);
  return keys;
}

/// The policy of a layer is replaced.
struct Replacement {
  const ExperimentKey& key;
  Json old;
  Json next;
  bool is_named;  ///< by the layer itself
  bool is_forced = false;
  bool drops(const std::string& option, const HasOption& has_option) const {
    if (!old.is_string() || !next.is_string() || (old == next && !is_forced)) return false;
    return has_option(key, old.get<std::string>(), option) &&
           (is_named || !has_option(key, next.get<std::string>(), option));
  }
  bool drops_path(const std::string& path, const HasOption& has_option) const {
    const std::string begin = key.accepts.options + '.';
    return path.starts_with(begin) && drops(path.substr(begin.size()), has_option);
  }
};

/// Null: the layer does not set it.
const Assignment* assignment_of(const std::vector<Assignment>& layer, const std::string& path,
                                const std::string& variant, const std::string& job) {
  const auto found = std::ranges::find_if(layer, [&](const Assignment& one) {
    return one.path == path && one.variant == variant && one.job == job;
  });
  return found == layer.end() ? nullptr : &*found;
}

/// Whether the layer gives, without a policy, an option of the one that a variant or a job names.
/// `name_of(path)`: that name; null: it names none.
template <class NameOf>
bool is_option_of_named(const Assignment& given, const std::vector<Assignment>& layer, const NameOf& name_of,
                        const HasOption& has_option) {
  return std::ranges::any_of(keys_with_options(), [&](const ExperimentKey* key) {
    const std::string begin = key->accepts.options + '.';
    if (!given.path.starts_with(begin) || assignment_of(layer, key->path, "", "") != nullptr) return false;
    const Json* const name = name_of(key->path);
    return name != nullptr && name->is_string() &&
           has_option(*key, name->template get<std::string>(), given.path.substr(begin.size()));
  });
}

/// Sets a key. Pre: the table lists a policy before its options, and assignments come in the order of the
/// table.
void assign_and_drop(const ExperimentKey& key, Experiment& experiment, const Assignment& assignment,
                     const HasOption& has_option) {
  const Json before = key_value(key, experiment);
  apply_one(key, experiment, assignment);
  const std::string& options = key.accepts.options;
  if (options.empty()) return;
  const Replacement replaced{key, before, key_value(key, experiment), true, assignment.drops_options};
  std::erase_if(*std::get<OptionValues*>(find_experiment_key(options)->field(experiment)),
                [&](const auto& option) { return replaced.drops(option.first, has_option); });
}

/// A layer sets another policy in a variant, or under it.
void drop_options_of_variant(Json& keys, const std::string& variant, const Experiment& experiment,
                             const std::vector<Assignment>& layer, const HasOption& has_option) {
  for (const ExperimentKey* key : keys_with_options()) {
    const Assignment* given = assignment_of(layer, key->path, variant, "");
    if (given == nullptr) given = assignment_of(layer, key->path, "", "");
    if (given == nullptr) continue;
    const bool is_named = keys.contains(key->path);
    const Replacement replaced{*key, is_named ? keys.at(key->path) : key_value(*key, experiment),
                               given->value, is_named, given->drops_options};
    Json kept = Json::object();
    for (const auto& [path, value] : keys.items())
      if (!replaced.drops_path(path, has_option)) kept[path] = value;
    keys = std::move(kept);
  }
}

/// The assignment of a layer that replaces the policy of a job; the job may set that policy itself or not.
const Assignment* replaced_in_job(const std::vector<Assignment>& layer, const std::string& path,
                                  const std::string& variant, const std::string& job, bool is_named) {
  const Assignment* const of_all = assignment_of(layer, path, "", "");
  if (const auto* own = assignment_of(layer, path, "", job)) return own;
  if (is_named && of_all == nullptr) return nullptr;
  const auto* of_variant = variant.empty() ? nullptr : assignment_of(layer, path, variant, "");
  return of_variant != nullptr ? of_variant : of_all;
}

}  // namespace

bool has_any_option(const ExperimentKey&, const std::string&, const std::string&) { return true; }

std::string Assignment::label() const {
  if (!job.empty()) return "jobs." + job + (path.empty() ? "" : '.' + path);
  if (variant.empty()) return path;
  return "variants." + variant + (path.empty() ? "" : '.' + path);
}

void apply_assignments(Experiment& experiment, std::vector<Assignment> assignments,
                       const HasOption& has_option) {
  for (const auto& assignment : assignments) {
    if (assignment.path.empty() && assignment.variant.empty())
      fail(assignment.place, "", "the name of a key or a variant", "nothing");
    if (!assignment.path.empty() && find_experiment_key(assignment.path) == nullptr) fail_unknown(assignment);
  }
  std::stable_sort(assignments.begin(), assignments.end(),
                   [](const auto& a, const auto& b) { return position(a) < position(b); });
  for (const auto& assignment : assignments)
    if (assignment.variant.empty())
      assign_and_drop(*find_experiment_key(assignment.path), experiment, assignment, has_option);
  for (const auto& assignment : assignments)
    if (!assignment.variant.empty()) store_override(experiment, assignment);
}

std::vector<Assignment> override_variants(Experiment& experiment, const std::vector<Assignment>& layer,
                                          const HasOption& has_option) {
  for (auto& [variant, keys] : experiment.variants)
    drop_options_of_variant(keys, variant, experiment, layer, has_option);
  std::vector<Assignment> assignments;
  for (const auto& assignment : layer) {
    if (!assignment.variant.empty() || assignment.is_implied) continue;
    // A value that the key does not accept is an error of the key as it was given, not of a variant.
    Experiment scratch;
    if (const auto* key = find_experiment_key(assignment.path)) apply_one(*key, scratch, assignment);
    for (const auto& [variant, keys] : experiment.variants) {
      const auto name_of = [&](const std::string& path) {
        const bool is_given = assignment_of(layer, path, variant, "") != nullptr;
        return !is_given && keys.contains(path) ? &keys.at(path) : nullptr;
      };
      if (keys.contains(assignment.path) || is_option_of_named(assignment, layer, name_of, has_option))
        store_override(experiment, assignments.emplace_back(assignment.place, variant, assignment.path,
                                                            assignment.value));
    }
  }
  return assignments;
}

void override_jobs(std::vector<Assignment>& of_jobs, const Experiment& experiment, const std::string& variant,
                   const std::vector<Assignment>& layer, const HasOption& has_option) {
  const auto below = [&](const ExperimentKey& key) {
    const auto keys = experiment.variants.find(variant);
    const bool is_of_variant = keys != experiment.variants.end() && keys->second.contains(key.path);
    return is_of_variant ? keys->second.at(key.path) : key_value(key, experiment);
  };
  std::set<std::string> jobs;
  for (const Assignment& one : of_jobs) jobs.insert(one.job);
  for (const std::string& job : jobs)
    for (const ExperimentKey* key : keys_with_options()) {
      const Assignment* named = assignment_of(of_jobs, key->path, "", job);
      const Assignment* given = replaced_in_job(layer, key->path, variant, job, named != nullptr);
      if (given == nullptr) continue;
      const Replacement replaced{*key, named != nullptr ? named->value : below(*key), given->value,
                                 named != nullptr, given->drops_options};
      std::erase_if(of_jobs, [&](const Assignment& one) {
        return one.job == job && replaced.drops_path(one.path, has_option);
      });
    }
  for (const Assignment& given : layer) {
    if (!given.job.empty() || !given.variant.empty() || given.is_implied) continue;
    std::erase_if(of_jobs, [&](const Assignment& one) { return one.path == given.path; });
    for (const std::string& job : jobs) {
      const auto name_of = [&](const std::string& path) {
        const Assignment* const named = assignment_of(of_jobs, path, "", job);
        return named != nullptr && assignment_of(layer, path, "", job) == nullptr ? &named->value : nullptr;
      };
      if (!is_option_of_named(given, layer, name_of, has_option)) continue;
      of_jobs.push_back(
          {.place = given.place, .variant = "", .path = given.path, .value = given.value, .job = job});
    }
  }
  std::ranges::copy_if(layer, std::back_inserter(of_jobs),
                       [](const Assignment& given) { return !given.job.empty(); });
}

std::vector<Assignment> assignments_of_variant(const Experiment& experiment, const std::string& variant,
                                               const std::string& place) {
  std::vector<Assignment> assignments;
  for (const auto& [path, value] : experiment.variants.at(variant).items())
    assignments.push_back({place, "", path, value});
  return assignments;
}

void check_name(const std::string& place, const std::string& label, const std::string& name) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), allowed))
    fail(place, label, "a name of letters, digits, - and _", quote(name));
}

void fail(const std::string& place, const std::string& label, const std::string& expected,
          const std::string& found) {
  throw ConfigError(place + ": key '" + label + "': expected " + expected + ", found " + found);
}

void fail_unknown(const Assignment& assignment) {
  const std::string nearest = nearest_key(assignment);
  throw ConfigError(assignment.place + ": unknown key '" + assignment.label() + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::string quote(const Json& value) {
  if (value.is_null() || value == "") return "nothing";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "a map";
  if (!value.is_string()) return "'" + value.dump() + "'";
  const std::string text = value.get<std::string>();
  return (plain_scalar(text).is_string() ? "'" : "text '") + text + "'";
}

}  // namespace tandem
