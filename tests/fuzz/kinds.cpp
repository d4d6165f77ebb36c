#include "tests/fuzz/kinds.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "platforms/describe.hpp"
#include "platforms/offers.hpp"
#include "platforms/topology.hpp"
#include "platforms/unsupported.hpp"
#include "policies/cache/policy.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/campaign/suite_file.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/cost/network_table.hpp"
#include "workloads/cost/price_table.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/data/dataset_files.hpp"
#include "workloads/data/shard_index.hpp"
#include "workloads/data/trace_file.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/csv.hpp"
#include "workloads/records/csv_columns.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/trace/checks.hpp"
#include "workloads/trace/read_trace.hpp"

namespace tandem::fuzz {
namespace {

std::string put(const std::string& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder + '/' + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

/// Writes a file unless it exists.
void put_once(const std::string& folder, const std::string& name, const std::string& bytes) {
  if (!std::ifstream(folder + '/' + name)) put(folder, name, bytes);
}

/// Hosts a (with a disk), b, c and d, of 1, 4, 2 and 8 cores.
platforms::Description small_platform() {
  platforms::Description platform;
  platform.file = "platform.xml";
  int cores = 1;
  for (const char* name : {"a", "b", "c", "d"}) {
    platforms::Host host;
    host.name = name;
    host.speed = FlopsPerSecond(1e9);
    host.cores = cores;
    host.device = {"host", host.speed, BytesPerSecond(1e10), Seconds(0.0)};
    host.properties["memory"] = "8GiB";
    platform.hosts.push_back(host);
    cores = cores == 4 ? 2 : cores * 4;
  }
  platform.hosts.front().disks.push_back(
      {"disk", BytesPerSecond(1e8), BytesPerSecond(1e8), {{"size", "64GiB"}}});
  return platform;
}

void expect_same(const std::string& found, const std::string& expected) {
  if (found != expected) throw std::logic_error("round trip: expected " + expected + ", found " + found);
}

/// An accepted experiment must survive writing, reading back, and placement.
void use_experiment(Experiment experiment, const std::string& folder) {
  const std::string document = to_json(experiment).dump();
  expect_same(to_json(experiment_from_json(nlohmann::json::parse(document))).dump(), document);
  const std::string again = put(folder, "again.yaml", to_yaml(experiment));
  expect_same(to_json(load_experiment(again)).dump(), document);
  resolve_placement(experiment, small_platform());
}

void read_experiment(const std::string& input, const std::string& folder) {
  put_once(folder, "platform.xml", "");
  use_experiment(load_experiment(put(folder, "input.yaml", input)), folder);
}

/// Lines of KEY=VALUE, as for --set.
void read_settings(const std::string& input, const std::string& folder) {
  put_once(folder, "platform.xml", "");
  put_once(folder, "base.yaml",
           "platform: platform.xml\nstop: {rounds: 2}\nvariants: {asp: {sync.algorithm: asp}}\n");
  Overrides overrides;
  for (std::size_t at = 0; at < input.size();) {
    const auto end = std::min(input.find('\n', at), input.size());
    overrides.push_back(parse_override(input.substr(at, end - at)));
    at = end + 1;
  }
  use_experiment(load_experiment(folder + "/base.yaml", overrides), folder);
}

/// Suites and studies refer to experiments in their folder.
void read_suite(const std::string& input, const std::string& folder) {
  put_once(folder, "platform.xml", "");
  put_once(folder, "lab.yaml",
           "platform: platform.xml\nstop: {rounds: 2}\nvariants: {bsp: {}, asp: {sync.algorithm: asp}}\n");
  put_once(folder, "plain.yaml", "platform: platform.xml\nstop: {rounds: 2}\nworkload: {model: synthetic}\n");
  const std::string path = put(folder, "input.yaml", input);
  validation::is_suite(path);
  validation::load_suite(path);
}

void read_platform(const std::string& input, const std::string& folder) {
  const std::string path = put(folder, "input.xml", input);
  const auto [description, topology] = platforms::load_overview(path, 8);
  platforms::describe(description, topology);
  platforms::describe(platforms::find_unsupported(platforms::PlatformXml(path)));
}

void read_profile(const std::string& input, const std::string& folder) {
  const Profile profile = load_profile(put(folder, "input.json", input));
  Rng random(1);
  const Work work{.kind = Work::Kind::forward, .bucket = 0, .samples = 8};
  PriceTable(profile).price("mlp", work);
  PriceTable(profile).draw_variation("mlp", work, random);
  profile.draw_lateness(random);
  PriceTable(profile).slowdown("mlp", Work::Kind::backward);
  PriceTable(profile).first_extra("mlp", work);
  NetworkTable(profile).all_reduce(4, Bytes(1 << 20));
  profile.begin("mlp", &random);
  to_json(profile).dump();
}

void read_job(const std::string& input, const std::string& folder) {
  try {
    job_from_document(nlohmann::json::parse(input), folder);
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("not a job document: ") + error.what());  // like the rank program
  }
}

void read_state(const std::string& input, const std::string& folder) {
  const std::string path = put(folder, "input.state", input);
  SavedState::load_numbers(path);
  SavedState state = SavedState::load(path);
  std::int64_t round = 0;
  double seconds = 0.0;
  std::vector<float> values(4);
  state.number("round", round);
  state.number("seconds", seconds);
  state.floats("velocity", values);
}

/// "ALGORITHM
/// STATE": the state of a server, or of a worker if the algorithm has no servers.
void read_policy_state(const std::string& input, const std::string&) {
  const auto end = std::min(input.find('\n'), input.size());
  const auto& entry = sync::catalog().find(input.substr(0, end));
  const std::string state = input.substr(std::min(end + 1, input.size()));
  const sync::Setting setting{.workers = entry.make.most_workers == 1 ? 1 : 4,
                              .batch = 8,
                              .route = entry.make.routes.front(),
                              .options = Options::resolve(entry.name, entry.options, {})};
  const auto restore_twice = [&](auto&& make) {
    const auto first = make(), second = make();
    restore(*first, state);
    restore(*second, serialised(*first));
    expect_same(serialised(*second), serialised(*first));
  };
  if (entry.make.make_server != nullptr)
    restore_twice([&] { return entry.make.make_server(setting); });
  else
    restore_twice([&] { return entry.make.make_worker(setting, 0); });
}

void read_policy_event(const std::string& input, const std::string&) {
  const std::string line = input.substr(0, input.find('\n'));
  try {
    const std::string text = sync::to_text(sync::parse_server_event(line));
    expect_same(sync::to_text(sync::parse_server_event(text)), text);
  } catch (const ConfigError&) {
    const std::string text = sync::to_text(sync::parse_worker_event(line));
    expect_same(sync::to_text(sync::parse_worker_event(text)), text);
  }
}

/// A small data set of the given shape.
DatasetInfo images(int channels, int side) {
  return {.name = "images", .channels = channels, .height = side, .width = side, .classes = 10};
}

void read_part(PartFiles& part) { part.read(std::min<std::int64_t>(part.samples(), 1000)); }

/// The input is the file of images; the file of labels has as many labels as a corpus file has images.
void read_idx_images(const std::string& input, const std::string& folder) {
  put_once(folder, "labels", std::string("\0\0\x08\x01\0\0\0\x03\x01\x02\x03", 11));
  read_part(*open_idx_part(images(1, 4), folder + "/labels", put(folder, "input", input)));
}

void read_idx_labels(const std::string& input, const std::string& folder) {
  put_once(folder, "images",
           std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x04\0\0\0\x04", 16) + std::string(48, 'x'));
  read_part(*open_idx_part(images(1, 4), put(folder, "input", input), folder + "/images"));
}

void read_cifar(const std::string& input, const std::string& folder) {
  read_part(*open_cifar_part(images(3, 4), {10}, {put(folder, "input", input)}));
}

void read_index(const std::string& input, const std::string& folder) {
  const ShardIndex index = read_shard_index(put(folder, "input", input));
  write_shard_index(index, folder + "/again");
  const ShardIndex again = read_shard_index(folder + "/again");
  for (const auto part : {Dataset::Part::train, Dataset::Part::test})
    expect_same(again.part(part).manifest->digest(), index.part(part).manifest->digest());
}

/// A trace of requests, and a replay on a small cache.
void replay_trace(const std::string& input, const std::string& folder, const TraceFormat& format) {
  auto file = read_trace(put(folder, "input", input), format);
  file.trace.find_next_requests();
  for (const auto& policy : cache::trace_catalog().entries()) {
    const auto counts = policy.make.replay(
        file.trace.view(),
        {.capacity = Bytes(1000), .options = Options::resolve(policy.name, policy.options, {})});
    if (counts.largest_used > 1000 || counts.hits > counts.requests) std::abort();
  }
}

void read_trace_csv(const std::string& input, const std::string& folder) {
  replay_trace(input, folder, {.type = "csv"});
}

void read_trace_records(const std::string& input, const std::string& folder) {
  replay_trace(input, folder, {.type = "oracleGeneral"});
}

void read_trace_lcs(const std::string& input, const std::string& folder) {
  replay_trace(input, folder, {.type = "lcs"});
}

void read_trace_vscsi(const std::string& input, const std::string& folder) {
  replay_trace(input, folder, {.type = "vscsi"});
}

void read_trace_zst(const std::string& input, const std::string& folder) {
  put(folder, "input.zst", input);
  read_trace(folder + "/input.zst", {.type = "csv"});
}

/// A trace of PyTorch's profiler, an execution trace, a Chakra trace or DDP's logging data, and all that is
/// found in it.
void read_profiler_trace(const std::string& input, const std::string& folder) {
  const auto [traces, descriptions] = trace::read_inputs(put(folder, "input.json", input), {});
  for (const auto& job : descriptions) {
    trace::gaps_of(job);
    if (!trace::refusals_of(job).empty()) continue;
    constexpr trace::Nanoseconds step = 3'000'000'000;
    const auto known = trace::is_without_times(job) ? std::optional(step) : std::nullopt;
    const auto traced = trace::traced_job(job, known);
    if (!std::ranges::is_sorted(traced.buckets, {}, &trace::TracedBucket::ready)) std::abort();
  }
  std::vector<trace::RankFindings> findings;
  for (const auto& one : traces) {
    findings.push_back(trace::analyse(one));
    trace::checks_of(one, findings.back());
    trace::refusals_of(one, findings.back());
    for (const auto& step : findings.back().steps)
      if (step.window && step.parts->computation + step.parts->exposed_communication + step.parts->memory +
                                 step.parts->idle !=
                             *step.window)
        std::abort();
  }
  if (traces.size() > 1) trace::check_of(trace::compare_ranks(traces, findings));
}

template <class Record>
void read_csv(const std::string& input, const std::string& folder) {
  const auto records = from_csv<Record>(folder + "/input.csv", input);
  const std::string text = to_csv(records);
  expect_same(to_csv(from_csv<Record>("again.csv", text)), text);
}

/// run.json of a result directory without records.
void read_run_info(const std::string& input, const std::string& folder) {
  put(folder, "run.json", input);
  put_once(
      folder, "summary.json",
      R"({"missed_deadlines": 0, "cpu_wait_s": 0, "other_load": 0, "skipped_steps": 0, "dropped_samples": 0})");
  put_once(folder, "steps.csv", to_csv<StepRecord>({}));
  put_once(folder, "evaluations.csv", to_csv<EvaluationRecord>({}));
  put_once(folder, "caches.csv", to_csv<CacheRecord>({}));
  put_once(folder, "staleness.csv", to_csv<StalenessRecord>({}));
  read_results(folder);
}

LearnerSetting setting_of(const std::string& model) {
  return {.model = model, .dataset = images(1, 4), .bucket_bytes = Bytes(1 << 20)};
}

void read_torch_script(const std::string& input, const std::string& folder) {
  describe_model(setting_of(put(folder, "input.pt", input)));
}

void read_checkpoint(const std::string& input, const std::string& folder) {
  const ModelDescription tiny{
      .name = "tiny",
      .tensors = {{.name = "fc.weight", .shape = {2, 3}}, {.name = "fc.bias", .shape = {2}, .offset = 6}},
      .buckets = {{.parameters = 8, .forward = Flops(0), .backward = Flops(0)}}};
  load_checkpoint(put(folder, "input.pt", input), tiny);
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"experiment", read_experiment, true},
      {"settings", read_settings, true},
      {"suite", read_suite, true},
      {"study", read_suite, true},
      {"platform", read_platform, true},
      {"profile", read_profile, true},
      {"job", read_job, true},
      {"state", read_state, true},
      {"policy_state", read_policy_state, true},
      {"policy_event", read_policy_event, true},
      {"idx_images", read_idx_images, false},
      {"idx_labels", read_idx_labels, false},
      {"cifar", read_cifar, false},
      {"shard_index", read_index, true},
      {"trace", read_profiler_trace, true},
      {"trace_csv", read_trace_csv, true},
      {"trace_lcs", read_trace_lcs, false},
      {"trace_records", read_trace_records, false},
      {"trace_vscsi", read_trace_vscsi, false},
      {"trace_zst", read_trace_zst, false},
      {"offers", [](const std::string& input, const std::string&) { platforms::read_offers("o.csv", input); },
       true},
      {"operations", read_csv<OperationRecord>, true},
      {"steps", read_csv<StepRecord>, true},
      {"run_info", read_run_info, true},
      {"torch_script", read_torch_script, false},
      {"checkpoint", read_checkpoint, false},
  };
  return all;
}

const Kind* find_kind(std::string_view name) {
  for (const auto& kind : kinds())
    if (name == kind.name) return &kind;
  return nullptr;
}

std::string read_or_abort(const Kind& kind, const std::string& input, const std::string& folder) {
  std::string end;
  try {
    kind.read(input, folder);
    return {};
  } catch (const ConfigError& error) {
    if (*error.what() != '\0') return error.what();
    end = "a ConfigError without a message";
  } catch (const WorldError& error) {
    if (*error.what() != '\0') return error.what();
    end = "a WorldError without a message";
  } catch (const std::exception& error) {
    end = std::string("an exception that nobody catches: ") + error.what();
  }
  std::fprintf(stderr, "%s: %s\n", kind.name, end.c_str());
  std::abort();
}

}  // namespace tandem::fuzz
