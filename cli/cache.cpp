// `tandem cache`: replays a trace of requests on cache policies of several sizes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/cache_options.hpp"
#include "cli/cache_training.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "policies/cache/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/page.hpp"
#include "workloads/data/trace_file.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

struct CacheOptions {
  std::string trace;
  TraceFormat format{};
  std::string columns;
  std::string policies;
  std::string sizes;
  std::vector<std::string> settings;
  std::string csv;
  std::uint64_t seed = 1;
  int jobs = 0;
  CacheTraining training;  ///< with --epochs
};

/// One policy with one capacity.
struct Case {
  const CatalogEntry<cache::Factory>* policy;
  cache::ReplaySetting setting;
  cache::Counts counts{};
  double seconds = 0;
};

int column(const std::string& name, const std::string& text, int least) {
  constexpr int most = 1000;
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < least || number > most)
    throw ConfigError(fmt::format("cache: --trace-options: {}: expected a column from {} to {}, found '{}'",
                                  name, least, most, text));
  return number;
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

std::vector<Case> cases_of(const CacheOptions& options, const cache::NumberedTrace& trace) {
  std::vector<Case> cases;
  for (const auto& setting : options.settings) cache::trace_catalog().find(owner_of(setting));
  const auto names = options.policies == "all" ? cache::trace_catalog().names() : parts_of(options.policies);
  for (const auto& name : names) {
    const auto& policy = cache::trace_catalog().find(name);
    const Options resolved =
        Options::resolve(policy.name, policy.options, options_given(options.settings, policy.name));
    for (const std::int64_t size : sizes_of(options.sizes, static_cast<double>(trace.working_set())))
      cases.push_back({&policy, {.capacity = Bytes(size), .options = resolved, .seed = options.seed}, {}, 0});
  }
  return cases;
}

void replay_all(std::vector<Case>& cases, const cache::Trace& trace, int jobs) {
  std::atomic<std::size_t> next{0}, done{0};
  std::vector<std::jthread> threads;
  for (int job = 0; job < jobs; ++job)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        const auto start = std::chrono::steady_clock::now();
        cases[i].counts = cases[i].policy->make.replay(trace, cases[i].setting);
        cases[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++done;
      }
    });
  ProgressBar bar("cache");
  while (done < cases.size()) {
    bar.update(static_cast<double>(done) / static_cast<double>(cases.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

json document_of(const CacheOptions& options, const TraceFile& file, const std::vector<Case>& cases) {
  json results = json::array();
  for (const auto& one : cases) {
    const auto& counts = one.counts;
    json given = json::object();
    for (const auto& [name, value] : one.setting.options.values()) given[name] = to_text(value);
    results.push_back({{"policy", one.policy->name},
                       {"options", std::move(given)},
                       {"capacity_bytes", one.setting.capacity.count()},
                       {"requests", counts.requests},
                       {"hits", counts.hits},
                       {"miss_ratio", counts.miss_ratio()},
                       {"byte_miss_ratio", counts.byte_miss_ratio()},
                       {"evicted", counts.evicted},
                       {"largest_used_bytes", counts.largest_used},
                       {"requests_per_s", static_cast<double>(counts.requests) / one.seconds}});
  }
  return {{"trace", options.trace},           {"requests", file.trace.view().requests.size()},
          {"objects", file.trace.objects()},  {"working_set_bytes", file.trace.working_set()},
          {"skipped_requests", file.skipped}, {"ignores_sizes", options.format.ignores_sizes},
          {"results", std::move(results)}};
}

std::string table_of_results(const json& document) {
  validation::Table table{.columns = {{"Policy", true},
                                      {"Capacity"},
                                      {"Of the working set"},
                                      {"Miss ratio"},
                                      {"Byte miss ratio"},
                                      {"Capacity used"},
                                      {"Requests/s"}}};
  const double working_set = document.at("working_set_bytes");
  for (const auto& own : document.at("results")) {
    const double capacity = own.at("capacity_bytes"), used = own.at("largest_used_bytes");
    table.rows.push_back({{own.at("policy").get<std::string>(), with_separators(own.at("capacity_bytes")),
                           fmt::format("{:.3g} %", 100 * capacity / working_set),
                           fmt::format("{:.4f}", own.at("miss_ratio").get<double>()),
                           fmt::format("{:.4f}", own.at("byte_miss_ratio").get<double>()),
                           fmt::format("{:.1f} %", 100 * used / capacity),
                           fmt::format("{:.3g} M", own.at("requests_per_s").get<double>() * 1e-6)}});
  }
  validation::Page page;
  page.add(validation::Note{fmt::format(
               "{}: {} requests for {} objects, working set {} bytes{}",
               document.at("trace").get<std::string>(), with_separators(document.at("requests")),
               with_separators(document.at("objects")), with_separators(document.at("working_set_bytes")),
               document.at("ignores_sizes") ? " (each object counts as one)" : "")},
           std::move(table));
  return validation::to_text(page);
}

/// Complete, or not at all.
void write_csv(const std::string& path, const json& document) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished);
  file << "policy,capacity_bytes,requests,hits,miss_ratio,byte_miss_ratio,evicted,largest_used_bytes\n";
  for (const auto& own : document.at("results"))
    file << fmt::format("{},{},{},{},{:.6f},{:.6f},{},{}\n", own.at("policy").get<std::string>(),
                        own.at("capacity_bytes").get<std::int64_t>(), own.at("requests").get<std::int64_t>(),
                        own.at("hits").get<std::int64_t>(), own.at("miss_ratio").get<double>(),
                        own.at("byte_miss_ratio").get<double>(), own.at("evicted").get<std::int64_t>(),
                        own.at("largest_used_bytes").get<std::int64_t>());
  file.close();
  if (!file) throw WorldError("cannot write " + path);
  std::filesystem::rename(unfinished, path);
}

void warn_of_large_sizes(const std::vector<Case>& cases, std::int64_t working_set) {
  for (const auto& one : cases)
    if (one.setting.capacity.count() >= working_set)
      return print_note(
          fmt::format("a capacity of {} bytes holds the whole working set of {}: only the first request of "
                      "each object misses",
                      one.setting.capacity.count(), working_set));
}

void simulate_caches(CacheOptions& options) {
  read_columns(options.columns, options.format);
  TraceFile file;
  {
    ProgressBar bar("reading " + options.trace);
    file = read_trace(options.trace, options.format, [&](double share) { bar.update(share); });
  }
  auto cases = cases_of(options, file.trace);
  if (std::ranges::any_of(cases, [](const Case& one) { return one.policy->make.knows_future; }))
    file.trace.find_next_requests();
  warn_of_large_sizes(cases, file.trace.working_set());
  if (file.skipped > 0) print_note(fmt::format("skipped {} requests for no bytes", file.skipped));
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  replay_all(cases, file.trace.view(), options.jobs > 0 ? options.jobs : cores);
  const json document = document_of(options, file, cases);
  if (!options.csv.empty()) write_csv(options.csv, document);
  fmt::print("{}", table_of_results(document));
  print_document(document);
}

void add_training(CLI::App& command, CacheTraining& training) {
  constexpr const char* group = "Training jobs instead of a trace";
  command
      .add_option(
          "--epochs", training.epochs,
          "TRACE is a number of samples (50000, or 50000:110000 with the bytes of each), TYPE a sampler "
          "(tandem list sampling), and POLICIES are those of cache nodes (tandem list cache)")
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
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
  command
      .add_option("--background", training.background,
                  "Batches of each job that a node may read ahead after a step [2]")
      ->check(CLI::Range(0.0, 1e6))
      ->group(group);
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
      ->add_option(
          "SIZES", options->sizes,
          "Capacities, separated by commas: bytes, 100k, 2GB (powers of 1024), a share of the working set "
          "(with a point: 0.1), or auto")
      ->required();
  command->add_option("--trace-options,-t", options->columns,
                      "Of csv: id-col=1,size-col=2,delimiter=LETTER|tab,has-header=true; of binary: "
                      "format=<IQI,id-col=2,size-col=3 "
                      "(letters of Python's struct); size-col=0: no sizes");
  command->add_option("--option,-e", options->settings, "POLICY.OPTION=VALUE; may be repeated")
      ->type_name("SETTING");
  command->add_flag("--ignore-size", options->format.ignores_sizes, "Count every object as one byte");
  command->add_option("--csv", options->csv, "Also write the results to this file");
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
      "  tandem cache 60000:785 importance icache,minio,lru 0.1,0.2 --epochs 10 -e importance.beta=1\n"
      "  tandem cache 60000 shuffled partitioned-minio,hoard,nopfs 0.1 --epochs 5 --nodes 4");
  add_training(*command, options->training);
  command->callback([options] {
    if (options->training.epochs == 0) return simulate_caches(*options);
    CacheTraining& training = options->training;
    training.data_set = options->trace;
    training.sampler = options->format.type;
    training.policies = options->policies;
    training.sizes = options->sizes;
    training.settings = options->settings;
    training.seed = options->seed;
    simulate_training(training);
  });
}

}  // namespace tandem::cli
