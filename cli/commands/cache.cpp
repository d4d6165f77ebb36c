// `tandem cache`: replays a trace of requests on cache policies of several sizes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands/cache_training.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared/cache_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/cache/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "validation/report/cache_page.hpp"
#include "workloads/data/trace_file.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

struct CacheOptions {
  std::string trace;
  TraceFormat format{};
  std::string columns;
  std::string policies;
  std::string sizes;
  std::vector<std::string> settings;
  std::string csv;
  std::string report;
  std::string admission = "all";
  std::string warm_up = "0";
  double sample_rate = 1.0;
  bool prints_options = false;
  std::uint64_t seed = 1;
  int jobs = 0;
  std::size_t requests = 0;  ///< of the trace
  CacheTraining training;    ///< with --epochs
};

/// One policy with one capacity, on each sample of the trace, or on all of it.
struct Case {
  const CatalogEntry<cache::Factory>* policy;
  std::int64_t capacity;
  tandem::Options options;
  std::vector<cache::Counts> counts;  ///< by sample
  double seconds = 0;
};

int column(const std::string& name, const std::string& text, int least) {
  constexpr int most = 1000;
  const auto number = parse_number<int>(text, least, most);
  if (!number)
    throw ConfigError(fmt::format("cache: --trace-options: {}: expected a column from {} to {}, found '{}'",
                                  name, least, most, text));
  return *number;
}

void read_columns(const std::string& text, TraceFormat& format) {
  if (text.empty()) return;
  for (const auto& part : parts_of(text)) {
    const auto equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (name == "id-col")
      format.id_column = column(name, value, 1);
    else if (name == "size-col")
      format.size_column = column(name, value, 0);
    else if (name == "format" && !value.empty())
      format.record = value;
    else if (name == "delimiter" && (value.size() == 1 || value == "tab"))
      format.delimiter = value == "tab" ? '\t' : value[0];
    else if (name == "has-header" && (value == "true" || value == "false"))
      format.has_header = value == "true";
    else
      throw ConfigError(
          "cache: --trace-options: expected id-col=NUMBER, size-col=NUMBER, delimiter=LETTER, "
          "has-header=true or format=FIELDS, found '" +
          part + "'");
  }
}

/// "size=1000000", "prob=0.1", "seen" (or "bloom").
cache::AdmissionRule admission_of(const std::string& text) {
  using Kind = cache::AdmissionRule::Kind;
  if (text == "all") return {};
  if (text == "seen" || text == "bloom") return {.kind = Kind::seen};
  const auto number_after = [&](const std::string& name, double least, double most) {
    if (!text.starts_with(name + '=')) return -1.0;
    return parse_number<double>(text.substr(name.size() + 1), least, most).value_or(-1.0);
  };
  if (const double bytes = number_after("size", 1, 0x1p62); bytes > 0)
    return {.kind = Kind::size, .largest = static_cast<std::int64_t>(bytes)};
  if (const double share = number_after("prob", 0, 1); share >= 0)
    return {.kind = Kind::probability, .probability = share};
  throw ConfigError("cache: --admission: expected all, size=BYTES, prob=PROBABILITY or seen, found '" + text +
                    "'");
}

/// "10000" requests, or "0.1" of them.
std::size_t warm_up_of(const std::string& text, std::size_t requests) {
  double number = parse_number<double>(text).value_or(-1.0);
  const bool is_share = text.find('.') != std::string::npos;
  if (is_share) number *= static_cast<double>(requests);
  if (!(number >= 0 && number < static_cast<double>(requests)))
    throw ConfigError(
        fmt::format("cache: --warm-up: expected fewer requests than the {} of the trace, or a share of "
                    "them such as 0.1, found '{}'",
                    requests, text));
  return static_cast<std::size_t>(number);
}

std::int64_t smallest_object(const cache::Trace& trace) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const auto& request : trace.requests) smallest = std::min<std::int64_t>(smallest, request.size);
  return smallest;
}

std::vector<Case> cases_of(const CacheOptions& options, const cache::NumberedTrace& trace) {
  std::vector<Case> cases;
  for (const auto& setting : options.settings) cache::trace_catalog().find(owner_of(setting));
  auto names = options.policies == "all" ? cache::trace_catalog().names() : parts_of(options.policies);
  const std::int64_t smallest = smallest_object(trace.view());
  const auto sizes = sizes_of(options.sizes, static_cast<double>(trace.working_set()), smallest);
  note_small_sizes(sizes, smallest);
  // The bound is drawn in the report.
  if (!options.report.empty() && std::ranges::find(names, "belady") == names.end()) names.push_back("belady");
  for (const auto& name : names) {
    const auto& policy = cache::trace_catalog().find(name);
    const auto resolved =
        tandem::Options::resolve(policy.name, policy.options, options_given(options.settings, policy.name));
    for (const std::int64_t size : sizes) cases.push_back({&policy, size, resolved, {}, 0});
  }
  return cases;
}

/// The trace, or disjoint samples of its objects: those whose hashes lie in different ranges.
std::vector<cache::NumberedTrace> samples_of(cache::NumberedTrace trace, double rate) {
  constexpr int most = 4;
  std::vector<cache::NumberedTrace> samples;
  if (rate >= 1) {
    samples.push_back(std::move(trace));
    return samples;
  }
  samples.resize(static_cast<std::size_t>(std::clamp(static_cast<int>(1 / rate), 2, most)));
  for (const auto& [id, size] : trace.view().requests) {
    const double place = static_cast<double>(Rng::stream(id, "sample").next() >> 11U) * 0x1p-53 / rate;
    if (place < static_cast<double>(samples.size())) samples[static_cast<std::size_t>(place)].add(id, size);
  }
  std::erase_if(samples, [](const cache::NumberedTrace& sample) { return sample.objects() == 0; });
  if (samples.size() < 2)
    throw ConfigError(
        fmt::format("cache: --sample: expected a rate at which two samples have objects, found {}", rate));
  return samples;
}

void replay_all(std::vector<Case>& cases, const std::vector<cache::NumberedTrace>& samples,
                const cache::ReplaySetting& common, const CacheOptions& options) {
  std::atomic<std::size_t> next{0}, done{0};
  std::vector<std::jthread> threads;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (int job = 0; job < (options.jobs > 0 ? options.jobs : cores); ++job)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        Case& one = cases[i];
        cache::ReplaySetting setting = common;
        setting.capacity = Bytes(
            std::max<std::int64_t>(1, std::llround(static_cast<double>(one.capacity) * options.sample_rate)));
        setting.options = one.options;
        const auto start = std::chrono::steady_clock::now();
        for (const auto& sample : samples) {
          setting.warm_up = static_cast<std::size_t>(static_cast<double>(common.warm_up) *
                                                     static_cast<double>(sample.view().requests.size()) /
                                                     static_cast<double>(options.requests));
          one.counts.push_back(one.policy->make.replay(sample.view(), setting));
        }
        one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++done;
      }
    });
  ProgressBar bar("cache");
  while (done < cases.size()) {
    bar.update(static_cast<double>(done) / static_cast<double>(cases.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// The requests and bytes that a sample of the objects should have by its share. Miss ratios are misses over
/// these: a sample with too few of the most wanted objects, which nearly always hit, would otherwise miss
/// too often (Waldspurger et al., SHARDS, FAST 2015).
struct Expected {
  double requests = 0;
  double bytes = 0;
};

Expected expected_of(const cache::Trace& trace, std::size_t warm_up, double rate) {
  Expected all;
  for (const auto& request : trace.requests.subspan(warm_up)) {
    all.requests += rate;
    all.bytes += rate * static_cast<double>(request.size);
  }
  return all;
}

/// Mean over samples, and twice its standard error.
std::pair<double, double> mean_of(const std::vector<double>& ratios) {
  const auto count = static_cast<double>(ratios.size());
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count;
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  return {mean, ratios.size() < 2 ? 0.0 : 2 * std::sqrt(squares / (count - 1) / count)};
}

validation::CacheReplay result_of(const Case& one, double sample_rate, const Expected& expected) {
  cache::Counts sum;
  std::int64_t filling = 0;
  std::vector<double> misses, byte_misses;
  for (const auto& counts : one.counts) {
    const bool is_all = sample_rate >= 1;
    const auto missed = static_cast<double>(counts.requests - counts.hits);
    const auto missed_bytes = static_cast<double>(counts.bytes - counts.hit_bytes);
    misses.push_back(is_all ? counts.miss_ratio() : std::min(1.0, missed / expected.requests));
    byte_misses.push_back(is_all ? counts.byte_miss_ratio() : std::min(1.0, missed_bytes / expected.bytes));
    sum.requests += counts.requests;
    sum.hits += counts.hits;
    sum.evicted += counts.evicted;
    filling += counts.full_after.value_or(counts.requests);
    sum.largest_used = std::max(sum.largest_used, counts.largest_used);
  }
  const auto [miss, miss_error] = mean_of(misses);
  const auto [byte_miss, byte_miss_error] = mean_of(byte_misses);
  validation::CacheReplay result{
      .policy = one.policy->name,
      .capacity_bytes = one.capacity,
      .requests = sum.requests,
      .hits = sum.hits,
      .miss_ratio = miss,
      .byte_miss_ratio = byte_miss,
      .evicted = sum.evicted,
      .filling_requests = filling,
      .largest_used_bytes = std::min(
          one.capacity, static_cast<std::int64_t>(static_cast<double>(sum.largest_used) / sample_rate)),
      .requests_per_s = static_cast<double>(sum.requests) / one.seconds};
  for (const auto& [name, value] : one.options.values()) result.options[name] = to_text(value);
  if (sample_rate < 1) {
    result.miss_ratio_error = miss_error;
    result.byte_miss_ratio_error = byte_miss_error;
  }
  return result;
}

void write_csv(const std::string& path, const validation::CacheReplays& replays) {
  std::string text =
      "policy,capacity_bytes,requests,hits,miss_ratio,byte_miss_ratio,evicted,largest_used_bytes,"
      "filling_requests\n";
  for (const auto& own : replays.results)
    text += fmt::format("{},{},{},{},{:.6f},{:.6f},{},{},{}\n", own.policy, own.capacity_bytes, own.requests,
                        own.hits, own.miss_ratio, own.byte_miss_ratio, own.evicted, own.largest_used_bytes,
                        own.filling_requests);
  write_whole_file(path, text);
}

void warn_of_large_sizes(const std::vector<Case>& cases, std::int64_t working_set) {
  for (const auto& one : cases)
    if (one.capacity >= working_set)
      return print_note(
          fmt::format("a capacity of {} bytes holds the whole working set of {}: only the first request of "
                      "each object misses",
                      one.capacity, working_set));
}

void print_options(const CacheOptions& options) {
  const auto names = options.policies == "all" ? cache::trace_catalog().names() : parts_of(options.policies);
  for (const auto& name : names) {
    const auto& policy = cache::trace_catalog().find(name);
    if (policy.options.empty()) fmt::print("{}: no options\n", policy.name);
    for (const auto& option : policy.options)
      fmt::print("{}.{}={}  {}: {}\n", policy.name, option.name, to_text(option.default_value),
                 describe_type(option), option.summary);
  }
}

void write_outputs(const CacheOptions& options, const validation::CacheReplays& replays) {
  if (!options.csv.empty()) write_csv(options.csv, replays);
  if (options.report.empty()) return;
  std::filesystem::create_directories(options.report);
  validation::write_cache_report(options.report, replays);
  print_note(fmt::format("curves in {}/report.html", options.report));
}

void simulate_caches(CacheOptions& options) {
  if (options.prints_options) return print_options(options);
  read_columns(options.columns, options.format);
  const cache::AdmissionRule admission = admission_of(options.admission);
  TraceFile file;
  {
    ProgressBar bar("reading " + options.trace);
    file = read_trace(options.trace, options.format, [&](double share) { bar.update(share); });
  }
  auto cases = cases_of(options, file.trace);
  warn_of_large_sizes(cases, file.trace.working_set());
  if (file.skipped > 0) print_note(fmt::format("skipped {} requests for no bytes", file.skipped));
  options.requests = file.trace.view().requests.size();
  const std::size_t warm_up = warm_up_of(options.warm_up, options.requests);
  const bool has_one_size = options.format.ignores_sizes || file.trace.has_one_size();
  validation::CacheReplays replays{
      .trace = options.trace,
      .requests = options.requests,
      .objects = file.trace.objects(),
      .working_set_bytes = file.trace.working_set(),
      .skipped_requests = file.skipped,
      .ignores_sizes = options.format.ignores_sizes,
      .admission = options.admission,
      .warm_up_requests = warm_up,
      .sample_rate = options.sample_rate,
      .has_one_size = has_one_size,
      .bound_name = has_one_size ? "Belady: no policy misses less"
                                 : "Belady: not a bound, because objects have different sizes"};
  const Expected expected = expected_of(file.trace.view(), warm_up, options.sample_rate);
  auto samples = samples_of(std::move(file.trace), options.sample_rate);
  if (std::ranges::any_of(cases, [](const Case& one) { return one.policy->make.knows_future; }))
    for (auto& sample : samples) sample.find_next_requests();
  replay_all(cases, samples,
             {.capacity = Bytes(0), .seed = options.seed, .admission = admission, .warm_up = warm_up},
             options);
  replays.samples = samples.size();
  for (const Case& one : cases) replays.results.push_back(result_of(one, options.sample_rate, expected));
  write_outputs(options, replays);
  fmt::print("{}", validation::cache_table(replays));
  print_document(validation::cache_document(replays));
}

void add_training(CLI::App& command, CacheTraining& training) {
  constexpr const char* group = "Training jobs instead of a trace";
  auto* const epochs =
      command
          .add_option(
              "--epochs", training.epochs,
              "TRACE is a number of samples (50000, or 50000:110000 with the bytes of each), TYPE a sampler "
              "(tandem list sampling), and POLICIES are those of cache nodes (tandem list cache)")
          ->check(CLI::Range(1, 1'000'000))
          ->group(group);
  // They concern the requests of a trace alone.
  for (const char* of_trace :
       {"--trace-options", "--ignore-size", "--admission", "--warm-up", "--sample", "--print-options"})
    epochs->excludes(command.get_option(of_trace));
  command.add_option("--batch", training.batch, "Samples per node and step [64]")
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
  command.add_option("--nodes", training.nodes, "Nodes, each with a cache and a worker of each job [1]")
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command
      .add_option("--training-jobs", training.jobs, "Jobs that share the caches, each with its own order [1]")
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command.add_option("--losses", training.losses, "losses.csv of a run with --losses [modelled losses]")
      ->group(group);
  command
      .add_option("--background", training.background,
                  "Batches of each job that a node may read ahead after a step [2]")
      ->check(CLI::Range(0.0, 1e6))
      ->group(group);
}

void replay(CacheOptions& options) {
  CacheTraining& training = options.training;
  if (training.epochs == 0 && !training.losses.empty())
    throw ConfigError(
        "cache: --losses: expected --epochs too, because the requests of a trace have no losses");
  if (training.epochs == 0) return simulate_caches(options);
  training.data_set = options.trace;
  training.sampler = options.format.type;
  training.policies = options.policies;
  training.sizes = options.sizes;
  training.settings = options.settings;
  training.seed = options.seed;
  training.csv = options.csv;
  training.report = options.report;
  simulate_training(training);
}

}  // namespace

void add_cache(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "cache", "Replay a trace of requests, or training jobs, on cache policies of several sizes");
  const auto options = std::make_shared<CacheOptions>();
  command->add_option("TRACE", options->trace, "File with the requests; with --epochs, a number of samples")
      ->required();
  command
      ->add_option("TYPE", options->format.type,
                   "txt (an id per line) | csv | binary | oracleGeneral | oracleGeneralOpNS | lcs | vscsi | "
                   "twr | auto (by the name "
                   "of the file); with --epochs, a sampler. Files that end in .zst are unpacked")
      ->required();
  command
      ->add_option("POLICIES", options->policies,
                   "Names, separated by commas, or all (tandem list trace-cache)")
      ->required();
  command
      ->add_option("SIZES", options->sizes,
                   "Capacities, separated by commas: bytes, 100kB or 2GB (powers of 1000), 2GiB (powers of "
                   "1024), a share "
                   "of the working set (with a point: 0.1), or auto")
      ->required();
  command->add_option("--trace-options,-t", options->columns,
                      "Of csv: id-col=1,size-col=2,delimiter=LETTER|tab,has-header=true; of binary: "
                      "format=<IQI,id-col=2,size-col=3 "
                      "(letters of Python's struct); size-col=0: no sizes");
  command->add_option("--option,-e", options->settings, "POLICY.OPTION=VALUE; may be repeated")
      ->type_name("SETTING");
  command->add_flag("--ignore-size", options->format.ignores_sizes, "Count every object as one byte");
  command->add_option(
      "--admission", options->admission,
      "Which missed requests enter a cache: all, size=BYTES (at most), prob=PROBABILITY, or seen "
      "(from the second request on; also: bloom) [all]");
  command->add_option("--warm-up", options->warm_up,
                      "First requests that are not counted: a number, or a share such as 0.1 [0]");
  command
      ->add_option("--sample", options->sample_rate,
                   "Estimate from samples of this share of the objects, with the error [1: all]")
      ->check(CLI::Range(1e-6, 1.0));
  command->add_flag("--print-options", options->prints_options, "Print the options of the policies and stop");
  command->add_option(
      "--csv", options->csv,
      "Also write the results to this file; with --epochs, one row per policy, capacity, job and epoch");
  command->add_option("--report", options->report,
                      "Also write report.html with curves, report.md and report.json to this folder");
  command->add_option("--seed", options->seed, "Of policies that draw numbers [1]");
  command->add_option("--jobs,-j", options->jobs, "Replays in parallel; 0: one per CPU core [0]")
      ->check(CLI::Range(0, 64));
  command->footer(
      "Prints request and byte miss ratios. Belady is the bound: no policy misses less if all objects have "
      "one size.\n"
      "Objects larger than a cache are never kept in it; requests for no bytes are skipped. Examples:\n"
      "  tandem cache requests.csv csv lru,sieve,s3-fifo,belady auto\n"
      "  tandem cache requests.csv csv two-q 0.1 -e two-q.in=0.3 -t id-col=2,size-col=3,has-header=true\n"
      "  tandem cache trace.oracleGeneral.bin oracleGeneral all 1000,10000 --ignore-size --csv ratios.csv\n"
      "  tandem cache trace.lcs.zst auto lru,s3-fifo auto --sample 0.01 --report curves\n"
      "  tandem cache 60000:785 importance icache,minio,lru 0.1,0.2 --epochs 10 -e importance.beta=1\n"
      "  tandem cache 60000 shuffled partitioned-minio,hoard,nopfs 0.1 --epochs 5 --nodes 4 --csv "
      "epochs.csv");
  add_training(*command, options->training);
  command->callback([options] { replay(*options); });
}

}  // namespace tandem::cli
