// `tandem cache --epochs`: training jobs instead of a trace, on cache policies of several sizes.
#include "cli/commands/cache_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/shared/cache_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/data/loss_model.hpp"
#include "workloads/data/training_replay.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/loss_history.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// What reads cost, for policies that choose the fastest place: memory, another node and the store of a
/// cluster with 10 Gb/s Ethernet and disks.
const cache::Rates& usual_rates() {
  static const cache::Rates rates{.tiers = {{BytesPerSecond(1e10), Seconds(0)}},
                                  .peer = {BytesPerSecond(1.25e9), Seconds(5e-5)},
                                  .store = {BytesPerSecond(2e8), Seconds(5e-3)}};
  return rates;
}

/// "50000" or "50000:110000": samples, and bytes of each.
cache::Manifest manifest_of(const std::string& text) {
  const auto colon = text.find(':');
  const auto samples = parse_number<std::int64_t>(text.substr(0, colon), 1, 1'000'000'000);
  const auto size =
      parse_number<std::int64_t>(colon == std::string::npos ? std::string("1") : text.substr(colon + 1));
  if (!samples || !size || *size < 1)
    throw ConfigError(
        "cache: with --epochs, expected a number of samples such as 50000, or 50000:110000 with "
        "the bytes of each, in place of TRACE, found '" +
        text + "'");
  return {.samples = *samples, .each = Bytes(*size)};
}

struct TrainingCase {
  const CatalogEntry<cache::Factory>* policy;
  tandem::Options options;
  std::int64_t capacity;
  std::vector<EpochReads> epochs;
};

/// Several epochs of all jobs, added up.
struct EpochSums {
  CacheLedger ledger;
  std::int64_t listed = 0, omitted = 0, repeated = 0;
  void add(const EpochReads& epoch) {
    ledger += epoch.ledger;
    listed += epoch.listed;
    omitted += epoch.omitted;
    repeated += epoch.repeated;
  }
};

json training_counts(const EpochSums& sums) {
  const CacheLedger& ledger = sums.ledger;
  json background = json::object();
  for (std::size_t why = 1; why < ledger.background.size(); ++why)
    background[cache::why_names[why]] = {{"samples", ledger.background[why].samples},
                                         {"bytes", ledger.background[why].bytes},
                                         {"requests", ledger.background_requests[why]}};
  return {{"requests", sums.listed},
          {"local", ledger.local.samples},
          {"substituted", ledger.substituted.samples},
          {"peer", ledger.peer.samples},
          {"storage", ledger.storage.samples},
          {"swapped", ledger.swapped},
          {"background", std::move(background)},
          {"wasted", ledger.wasted.samples},
          {"packed_bytes", ledger.packed.bytes},
          {"peer_misses", ledger.peer_misses},
          {"omitted", sums.omitted},
          {"repeated", sums.repeated}};
}

/// The largest share of requests that caches of W nodes can serve without reading ahead, where each of J jobs
/// wants every sample once in an epoch: min(1, W c) for one job, 1 - (1 - W c) / J for several. Null for
/// other samplers.
json hit_bound(const CacheTraining& training, double share) {
  const auto& sampler = sampling::samplers().find(training.sampler).make;
  if (sampler.needs_losses || sampler.may_repeat) return nullptr;
  const double held = std::min(1.0, share * training.nodes);
  return 1 - (1 - held) / training.jobs;
}

json training_result(const TrainingCase& one, const CacheTraining& training, std::int64_t data_set) {
  EpochSums warm, cold;
  json epochs = json::array();
  for (const EpochReads& epoch : one.epochs) {
    (epoch.epoch == 0 ? cold : warm).add(epoch);
    EpochSums single;
    single.add(epoch);
    json counts = training_counts(single);
    counts["job"] = epoch.job;
    counts["epoch"] = epoch.epoch;
    epochs.push_back(std::move(counts));
  }
  json given = json::object();
  for (const auto& [name, value] : one.options.values()) given[name] = to_text(value);
  const EpochSums& all = warm.listed > 0 ? warm : cold;
  const double waits =
      all.listed == 0 ? 0.0
                      : static_cast<double>(all.ledger.storage.samples) / static_cast<double>(all.listed);
  return {
      {"policy", one.policy->name},
      {"options", std::move(given)},
      {"capacity_bytes", one.capacity},
      {"cold", training_counts(cold)},
      {"warm", training_counts(warm)},
      {"miss_ratio", waits},
      {"epochs", std::move(epochs)},
      {"hit_bound", hit_bound(training, static_cast<double>(one.capacity) / static_cast<double>(data_set))},
      {"nodes", training.nodes},
      {"training_jobs", training.jobs}};
}

std::string percent_of(const json& counts, const std::string& key) {
  const double requests = counts.at("requests");
  return requests == 0 ? "-" : fmt::format("{:.1f} %", 100 * counts.at(key).get<double>() / requests);
}

/// Samples that were read before a worker asked for them.
double read_ahead(const json& counts) {
  double ahead = 0;
  for (const auto& reads : counts.at("background")) ahead += reads.at("samples").get<double>();
  return ahead;
}

validation::Table results_table(const json& document) {
  validation::Table table{.columns = {{"Policy", true},
                                      {"Capacity per node"},
                                      {"Own cache"},
                                      {"Substituted"},
                                      {"Other nodes"},
                                      {"Store, waits"},
                                      {"Bound"},
                                      {"Read ahead"},
                                      {"Omitted"},
                                      {"Repeated"}}};
  const double total = document.at("data_set_bytes");
  for (const auto& own : document.at("results")) {
    const json& warm = own.at("warm");
    const double ahead = read_ahead(warm);
    const double requests = warm.at("requests"), capacity = own.at("capacity_bytes");
    table.rows.push_back(
        {{own.at("policy").get<std::string>(), fmt::format("{:.3g} %", 100 * capacity / total),
          percent_of(warm, "local"), percent_of(warm, "substituted"), percent_of(warm, "peer"),
          percent_of(warm, "storage"),
          own.at("hit_bound").is_null() ? "-"
                                        : fmt::format("{:.1f} %", 100 * own.at("hit_bound").get<double>()),
          requests == 0 ? "-" : fmt::format("{:.1f} %", 100 * ahead / requests), percent_of(warm, "omitted"),
          percent_of(warm, "repeated")}});
  }
  return table;
}

validation::Note opening_of(const json& document) {
  return validation::Note{fmt::format(
      "{} samples, {} epochs of sampler {}, {} job{} on {} node{}, batch {}. Shares of the {} requests after "
      "the first epoch. Bound: what caches can serve at most without reading ahead, if each job wants every "
      "sample once. Read ahead or refilled samples are counted in addition. How well samples are mixed: "
      "{:.3f} "
      "(1: as a random order).",
      with_separators(document.at("samples")), document.at("epochs").get<std::int64_t>(),
      document.at("sampler").get<std::string>(), document.at("training_jobs").get<int>(),
      document.at("training_jobs") == 1 ? "" : "s", document.at("nodes").get<int>(),
      document.at("nodes") == 1 ? "" : "s", document.at("batch").get<int>(),
      with_separators(document.at("warm_requests")), document.at("mixing").get<double>())};
}

std::string training_table(const json& document) {
  validation::Page page;
  page.add(opening_of(document), results_table(document));
  return validation::to_text(page);
}

void write_report(const std::string& directory, const json& document) {
  using namespace validation;
  constexpr std::size_t height = 380;
  Page page{.title = fmt::format("{} samples, sampler {}", with_separators(document.at("samples")),
                                 document.at("sampler").get<std::string>()),
            .kind = "Tandem cache",
            .blocks = {}};
  page.add(
      opening_of(document),
      Charts{{{"miss-ratio", "Share of the requests after the first epoch that wait for the store", height}}},
      Heading{2, "All replays"}, results_table(document));
  write_report_files(directory, document, to_markdown(page), to_html(page, document, {pieces::cache}));
}

/// One row per policy, capacity, job and epoch.
void write_epochs_csv(const std::string& path, const json& document) {
  std::string text =
      "policy,capacity_bytes,job,epoch,requests,local,substituted,peer,storage,read_ahead,omitted,repeated\n";
  for (const auto& own : document.at("results"))
    for (const auto& epoch : own.at("epochs")) {
      text += fmt::format("{},{},{},{}", own.at("policy").get<std::string>(),
                          own.at("capacity_bytes").get<std::int64_t>(), epoch.at("job").get<int>(),
                          epoch.at("epoch").get<std::int64_t>());
      for (const char* count : {"requests", "local", "substituted", "peer", "storage"})
        text += fmt::format(",{}", epoch.at(count).get<std::int64_t>());
      text += fmt::format(",{:.0f},{},{}\n", read_ahead(epoch), epoch.at("omitted").get<std::int64_t>(),
                          epoch.at("repeated").get<std::int64_t>());
    }
  write_whole_file(path, text);
}

void write_outputs(const CacheTraining& training, const json& document) {
  if (!training.csv.empty()) write_epochs_csv(training.csv, document);
  if (training.report.empty()) return;
  std::filesystem::create_directories(training.report);
  write_report(training.report, document);
  print_note(fmt::format("curves in {}/report.html", training.report));
}

std::unique_ptr<sampling::Sampler> make_job_sampler(const CacheTraining& training, std::int64_t samples,
                                                    int job) {
  const auto& entry = sampling::samplers().find(training.sampler);
  if (entry.make.make == nullptr)
    throw ConfigError("cache: with --epochs, expected a sampler whose list all workers share, found '" +
                      training.sampler + "'");
  return entry.make.make(
      {.samples = samples,
       .batch = training.batch,
       .seed = training.seed + static_cast<std::uint64_t>(job),
       .options = Options::resolve(entry.name, entry.options, options_given(training.settings, entry.name))});
}

/// The mixing of the first list; losses are modelled.
double mixing_of(const sampling::Sampler& sampler, const CacheTraining& training, std::int64_t samples) {
  std::vector<float> losses(static_cast<std::size_t>(samples));
  modelled_losses(training.seed, 0, losses);
  sampling::EpochList list;
  sampler.list(training.epochs - 1, {.losses = losses}, list);
  const auto batch = std::min<std::int64_t>(training.batch * training.nodes, std::ssize(list.ids));
  return sampling::mixing(list.ids, samples, batch);
}

/// The losses that each job knows before an epoch.
LossSource losses_of(const CacheTraining& training, std::int64_t samples) {
  if (!training.losses.empty())
    return [history = std::make_shared<const LossHistory>(training.losses, samples)](
               int, std::int64_t epoch, std::span<float> losses) { history->before(epoch, losses); };
  return [seed = training.seed](int job, std::int64_t epoch, std::span<float> losses) {
    modelled_losses(seed + static_cast<std::uint64_t>(job), std::max<std::int64_t>(0, epoch - 1), losses);
  };
}

void check_owners(const CacheTraining& training, const std::vector<TrainingCase>& cases) {
  std::vector<std::string> owners = {training.sampler};
  for (const TrainingCase& one : cases) owners.push_back(one.policy->name);
  for (const auto& setting : training.settings)
    if (const std::string owner = owner_of(setting); std::ranges::find(owners, owner) == owners.end())
      throw ConfigError(
          "cache: --option: expected an option of the sampler or of one of the policies, found '" + setting +
          "'");
}

/// The result of each case, without those for which a policy needs more room. `left_out`: says which, and
/// why. Errors: ConfigError if these are all.
json results_of(const CacheTraining& training, TrainingReplaySetting setting,
                std::vector<TrainingCase>& cases, std::vector<std::string>& left_out) {
  const bool needs_losses = sampling::samplers().find(training.sampler).make.needs_losses;
  const auto losses = losses_of(training, setting.manifest.samples);
  ProgressBar bar("cache");
  json results = json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TrainingCase& one = cases[i];
    setting.policy = one.policy;
    setting.policy_options = one.options;
    setting.tiers = {Bytes(one.capacity)};
    setting.losses = needs_losses || one.policy->make.needs.importance ? losses : nullptr;
    setting.progress = [&](std::int64_t epoch, double share) {
      const double done = (static_cast<double>(epoch) + share) / static_cast<double>(training.epochs);
      bar.update((static_cast<double>(i) + done) / static_cast<double>(cases.size()));
    };
    try {
      one.epochs = replay_training(setting);
    } catch (const ConfigError& error) {
      if (results.empty() && i + 1 == cases.size()) throw;
      left_out.push_back(fmt::format("left out: {} bytes: {}", one.capacity, error.what()));
      continue;
    }
    results.push_back(training_result(one, training, setting.manifest.total().count()));
  }
  return results;
}

}  // namespace

void simulate_training(const CacheTraining& training) {
  const cache::Manifest manifest = manifest_of(training.data_set);
  std::vector<TrainingCase> cases;
  const auto sizes =
      sizes_of(training.sizes, static_cast<double>(manifest.total().count()), manifest.each.count());
  note_small_sizes(sizes, manifest.each.count());
  const auto names = training.policies == "all" ? cache::catalog().names() : parts_of(training.policies);
  for (const auto& name : names) {
    const auto& policy = cache::catalog().find(name);
    const tandem::Options options =
        Options::resolve(policy.name, policy.options, options_given(training.settings, policy.name));
    for (const std::int64_t size : sizes) cases.push_back({&policy, options, size, {}});
  }
  check_owners(training, cases);
  std::vector<std::unique_ptr<sampling::Sampler>> samplers;
  TrainingReplaySetting setting;
  setting.manifest = manifest;
  for (int job = 0; job < training.jobs; ++job) {
    samplers.push_back(make_job_sampler(training, manifest.samples, job));
    setting.jobs.push_back(samplers.back().get());
  }
  setting.epochs = training.epochs;
  setting.batch = training.batch;
  setting.nodes = training.nodes;
  setting.rates = &usual_rates();
  setting.idle_room = Bytes(static_cast<std::int64_t>(training.background * training.batch) *
                            manifest.each.count() * training.jobs);
  setting.seed = training.seed;
  std::vector<std::string> left_out;
  json results = results_of(training, setting, cases, left_out);
  for (const std::string& note : left_out) print_note(note);
  const json document = {{"samples", manifest.samples},
                         {"data_set_bytes", manifest.total().count()},
                         {"sampler", training.sampler},
                         {"losses", training.losses.empty() ? "modelled" : training.losses},
                         {"epochs", training.epochs},
                         {"batch", training.batch},
                         {"nodes", training.nodes},
                         {"training_jobs", training.jobs},
                         {"mixing", mixing_of(*samplers[0], training, manifest.samples)},
                         {"warm_requests", results[0].at("warm").at("requests")},
                         {"results", std::move(results)}};
  write_outputs(training, document);
  fmt::print("{}", training_table(document));
  const bool needs_losses = sampling::samplers().find(training.sampler).make.needs_losses;
  const bool any_needs_losses = needs_losses || std::ranges::any_of(cases, [](const TrainingCase& one) {
                                  return one.policy->make.needs.importance;
                                });
  if (any_needs_losses && training.losses.empty())
    print_note(
        "losses are modelled (seeded, falling with noise), not those of a network: they show how caches "
        "behave, not how a model learns");
  print_document(document);
}

}  // namespace tandem::cli
