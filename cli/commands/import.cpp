// `tandem import`: what traces of PyTorch's profiler say about a training job, and the job as an experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/import_files.hpp"
#include "cli/commands/import_page.hpp"
#include "cli/shared/description_text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/trace_text.hpp"
#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "validation/report/traced_page.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/trace/read_trace.hpp"
#include "workloads/trace/traced_job.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

struct ImportOptions {
  std::vector<std::string> traces;
  std::vector<std::string> communication;
  std::string breakdown = "exact";
  bool shows_layers = false;
  std::string out;        ///< of the experiment; empty: none is written
  std::string step_time;  ///< without the profiler; empty: not known
  std::string device;     ///< of the catalogue; empty: by the GPU's name
  std::string model;      ///< of the catalogue, of a trace without buckets
  bool force = false;
};

/// Before a trace is read, which may take long.
void check_names(const ImportOptions& options) {
  for (const auto& path : options.traces)
    if (path.ends_with(".yaml"))
      throw ConfigError(
          path + ": expected a trace, found an experiment; it is imported already: tandem simulate " + path);
  if (options.out.empty() || options.force) return;
  for (const char* ending : {".yaml", ".xml", ".html"}) {
    const auto path = std::filesystem::path(options.out).replace_extension(ending);
    if (std::filesystem::exists(path))
      throw ConfigError(path.string() + " already exists; choose another name, or add --force");
  }
}

trace::Inputs read_all(const ImportOptions& options) {
  trace::ReadOptions reading;
  reading.communication.insert(reading.communication.end(), options.communication.begin(),
                               options.communication.end());
  trace::Inputs inputs;
  auto& traces = inputs.traces;
  for (const auto& path : options.traces) {
    ProgressBar bar("reading " + path);
    reading.progress = [&](double share) { bar.update(share); };
    auto of_file = trace::read_inputs(path, reading);
    std::ranges::move(of_file.traces, std::back_inserter(traces));
    std::ranges::move(of_file.descriptions, std::back_inserter(inputs.descriptions));
  }
  std::ranges::stable_sort(traces, {},
                           [](const trace::Trace& one) { return one.metadata.rank.value_or(-1); });
  const auto twice = std::ranges::adjacent_find(traces, [](const auto& a, const auto& b) {
    return a.metadata.rank.has_value() && a.metadata.rank == b.metadata.rank;
  });
  if (twice != traces.end())
    throw ConfigError(fmt::format("import: expected one trace per rank, found two of rank {}: {} and {}",
                                  *twice->metadata.rank, twice->name, std::next(twice)->name));
  return inputs;
}

void print_refusals(const std::string& file, const std::vector<trace::Refusal>& refusals) {
  for (const auto& refusal : refusals)
    print_error(fmt::format("{}: refused ({}): {}. {}", file, refusal.name, refusal.because, refusal.remedy));
}

void print_first(const trace::RankFindings& findings, const ImportOptions& options) {
  fmt::print("{}{}{}", summary_text(findings), steps_table(findings), buckets_table(findings));
  if (options.shows_layers) fmt::print("{}", layers_table(findings));
  fmt::print(
      "{}", breakdown_text(findings, options.breakdown == "hta" ? BreakdownKind::hta : BreakdownKind::exact));
}

void note_doubtful(const trace::RankFindings& findings) {
  for (const auto& name : findings.doubtful_kernels)
    print_note(fmt::format("{}: counted as computation: {}; if it communicates, give --communication",
                           findings.file, name.substr(0, 60)));
}

/// `gpu`: as the trace names it.
std::string device_of(const std::string& gpu, const ImportOptions& options) {
  if (!options.device.empty()) return platforms::find_device(options.device).name;
  if (const std::string known = catalogue_device(gpu); !known.empty()) return known;
  if (gpu.empty())
    throw ConfigError(
        "import: the file does not name its GPU; give one of `tandem list devices` with --device");
  throw ConfigError(
      "import: GPU '" + printable(gpu) +
      "' is not in `tandem list devices`; give the one of it that is most like it with --device");
}

std::optional<trace::Nanoseconds> given_step_time(const ImportOptions& options) {
  if (options.step_time.empty()) return std::nullopt;
  const auto time = parse_seconds(options.step_time);
  constexpr double day = 86'400;
  const bool has_unit =
      std::ranges::any_of(options.step_time, [](unsigned char c) { return std::isalpha(c); });
  if (!time || !has_unit || time->count() <= 0 || time->count() > day)
    throw ConfigError("--step-time: expected a time above 0 (" + time_examples("90ms") + "), found '" +
                      options.step_time + "'");
  return std::llround(time->count() * 1e9);
}

ImportedJob imported_job(const std::string& file, const std::string& gpu, const ImportOptions& options) {
  return {.name = std::filesystem::path(options.out).stem().string(),
          .source = printable(std::filesystem::path(file).filename().string()),
          .gpu = printable(gpu),
          .device = device_of(gpu, options),
          .model = options.model,
          .step = {},
          .has_step_time = !options.step_time.empty()};
}

/// Errors: ConfigError where the trace does not say enough.
ImportedJob imported_job(const trace::RankFindings& findings, const ImportOptions& options) {
  const auto step_time = given_step_time(options);
  ImportedJob job = imported_job(findings.file, findings.device, options);
  job.step = trace::traced_job(findings, step_time);
  const bool is_sized =
      std::ranges::all_of(job.step.buckets, [](const auto& one) { return one.elements > 0; });
  if (job.step.buckets.empty() && options.model.empty())
    throw ConfigError(
        findings.file +
        ": no all-reduce in the backward pass, so the gradient's buckets are not known; wrap the "
        "model in DistributedDataParallel (one process is enough) and record again, or give "
        "--model with a name of `tandem list model`");
  if (!is_sized)
    throw ConfigError(findings.file +
                      ": the sizes of the buckets are missing; record with record_shapes=True, or give an "
                      "execution trace or DDP's logging data of the same job as well");
  if (step_time && !job.step.is_launch_bound())
    print_note(
        "--step-time has no effect: the job is not launch-bound, so the profiler does not slow it down");
  return job;
}

/// Writes experiment, platform and page, and checks the experiment as `tandem show` does.
void write_experiment(const ImportedJob& job, const trace::Timeline& timeline,
                      const std::vector<trace::Check>& checks, const ImportOptions& options) {
  if (!job.step.buckets.empty() && !options.model.empty())
    print_note("--model has no effect: the buckets are in the file");
  std::filesystem::path platform = options.out, page = options.out;
  platform.replace_extension(".xml");
  page.replace_extension(".html");
  write_own_file(platform, imported_platform_text(job));
  write_own_file(options.out, imported_experiment_text(job, platform.filename().string()));
  JobOptions check;
  check.experiment_file = options.out;
  load_job(check);
  write_own_file(page, validation::traced_job_html(page_of(job, timeline, checks)));
  fmt::print("\n{}\n{}\n{}\ntandem simulate {} --workers 32 --within 25Gbps\n", options.out,
             platform.string(), page.string(), options.out);
}

/// The sizes that the trace lacks, from another file of the same job. Errors: ConfigError for another job.
void complete_sizes(trace::RankFindings& findings, const std::vector<trace::JobDescription>& descriptions) {
  for (const auto& one : descriptions) {
    if (one.broken_at_byte)
      throw ConfigError(fmt::format("{}: {}", one.file, trace::refusals_of(one).front().because));
    if (!trace::add_sizes(findings, one))
      throw ConfigError(fmt::format("{}: expected the {} buckets of {}, found others; record both in one job",
                                    one.file, findings.buckets.size(), findings.file));
    print_note("sizes of the buckets, as in " + one.file);
  }
}

/// Reads files without events of a GPU. Returns whether they can be imported.
bool import_descriptions(const std::vector<trace::JobDescription>& all, const ImportOptions& options) {
  const auto& job = all.front();
  auto refusals = trace::refusals_of(job);
  for (const auto& other : all)
    if (!std::ranges::equal(other.buckets, job.buckets, {}, &trace::DescribedBucket::bytes,
                            &trace::DescribedBucket::bytes))
      refusals.push_back({"ranks do not match", other.file + " has other buckets than " + job.file,
                          "Give files of one job."});
  if (!options.out.empty() && refusals.empty() && trace::is_without_times(job) && options.step_time.empty())
    refusals.push_back(trace::gaps_of(job).front());
  fmt::print("{}", description_text(job, {!options.step_time.empty(), !options.device.empty()}));
  if (options.shows_layers) fmt::print("{}", gradients_table(job));
  std::fflush(stdout);
  print_refusals(job.file, refusals);
  json document = {{"description", description_document(job, refusals)}};
  if (!options.out.empty() && refusals.empty()) {
    ImportedJob imported = imported_job(job.file, "", options);
    imported.step = trace::traced_job(job, given_step_time(options));
    write_experiment(imported, {}, {}, options);
    document["experiment"] = options.out;
  }
  print_document(document);
  return refusals.empty();
}

/// Returns whether the traces can be imported.
bool import_traces(const ImportOptions& options) {
  const auto [traces, descriptions] = read_all(options);
  if (traces.empty()) return import_descriptions(descriptions, options);
  std::vector<trace::RankFindings> all;
  json document = {{"ranks", json::array()}};
  bool is_refused = false;
  for (const auto& one : traces) {
    const bool is_first = all.empty();
    auto& findings = all.emplace_back(trace::analyse(one));
    complete_sizes(findings, descriptions);
    const auto checks = trace::checks_of(one, findings);
    const auto refusals = trace::refusals_of(one, findings);
    document["ranks"].push_back(findings_document(findings, checks, refusals));
    // Without an experiment, the reason stands alone.
    if (findings.device_events > 0 && (refusals.empty() || options.out.empty())) {
      if (is_first)
        print_first(findings, options);
      else
        fmt::print("\n{}", summary_text(findings));
      fmt::print("{}", checks_text(checks, !is_first));
      note_doubtful(findings);
    }
    std::fflush(stdout);
    print_refusals(one.name, refusals);
    is_refused = is_refused || !refusals.empty();
  }
  if (all.size() > 1) {
    const auto match = trace::compare_ranks(traces, all);
    const auto refusals = trace::refusals_of(match);
    document["match"] = match_document(match);
    if (refusals.empty()) fmt::print("{}", match_table(match, all));
    fmt::print("{}", checks_text({trace::check_of(match)}, false));
    std::fflush(stdout);
    print_refusals("ranks", refusals);
    is_refused = is_refused || !refusals.empty();
  }
  if (!options.out.empty() && !is_refused) {
    const auto checks = trace::checks_of(traces.front(), all.front());
    ImportedJob job = imported_job(all.front(), options);
    for (const auto& check : checks)
      if (check.verdict == trace::Check::Verdict::fails)
        job.failed_checks.push_back(check.subject + ": " + check.figure);
    write_experiment(job, trace::timeline_of(traces.front(), all.front()), checks, options);
    document["experiment"] = options.out;
    if (traces.front().report.cut_at_byte)
      print_warning(fmt::format("{} ends early, at byte {}; {} is of {} of its {} steps, which are whole",
                                all.front().file, *traces.front().report.cut_at_byte, options.out,
                                std::ranges::count(all.front().steps, true, &trace::StepFindings::is_inner),
                                all.front().steps.size()));
  }
  print_document(document);
  return !is_refused;
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("import", "Print what traces of PyTorch's profiler say about a training job");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option(
          "TRACE", options->traces,
          "Files that export_chrome_trace or tensorboard_trace_handler wrote, one per rank, packed "
          "with gzip or not; or a tar archive of them. Also execution traces, Chakra traces (.et) and "
          "DDP's logging data as JSON, alone or for the sizes that such a trace lacks")
      ->required();
  command
      ->add_option(
          "--breakdown", options->breakdown,
          "exact: to the nanosecond, all steps; hta: as HolisticTraceAnalysis computes it, to compare "
          "[exact]")
      ->check(CLI::IsMember({"exact", "hta"}));
  command
      ->add_option(
          "--communication", options->communication,
          "A part of the names of more kernels that communicate, besides nccl, rccl and hccl; may be "
          "repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--out,-o", options->out,
          "Also write the traced step as an experiment, JOB.yaml, its platform, JOB.xml, and a page with "
          "pictures, JOB.html")
      ->type_name("JOB.yaml")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.ends_with(".yaml") ? std::string()
                                           : "expected a name that ends with .yaml, found '" + path + "'";
          },
          ""));
  command
      ->add_option("--step-time", options->step_time,
                   "Time of a step without the profiler: of a launch-bound job, because the profiler slows "
                   "the processor "
                   "down; of a file without times")
      ->type_name("TIME");
  command->add_option("--device", options->device,
                      "Device of `tandem list device` for a GPU that is not in it");
  command->add_option("--model", options->model,
                      "Model of `tandem list model`, for its buckets, of a trace without DDP");
  command->add_flag("--force", options->force, "Replace existing files");
  command->add_flag("--layers", options->shows_layers, "Also print the nodes of the backward pass in order");
  command->footer(
      "Prints steps, phases, DDP buckets, where the GPU's time went, and checks of these figures; of "
      "several\n"
      "ranks also the collectives: transfer, waiting, the late rank. A trace whose job is not plain data\n"
      "parallelism, or that is not complete, is refused with exit code 2. Of other files: DDP buckets, and "
      "what\n"
      "is missing. To record a trace, in train.py:\n"
      "  profile(schedule=schedule(wait=5, warmup=3, active=6), record_shapes=True,\n"
      "          on_trace_ready=lambda prof: prof.export_chrome_trace(\"trace.json.gz\")), and prof.step() "
      "after "
      "each step\n"
      "Examples:\n"
      "  tandem import trace.json.gz\n"
      "  tandem import trace.json.gz --out job.yaml\n"
      "  tandem import trace.json.gz --layers --breakdown hta\n"
      "  tandem import rank0.json rank1.json --communication nvshmem\n"
      "  tandem import ddp.json --device v100 --step-time 96ms --out job.yaml");
  command->callback([options, &exit_code] {
    check_names(*options);
    if (!import_traces(*options)) exit_code = exit_bad_input;
  });
}

}  // namespace tandem::cli
