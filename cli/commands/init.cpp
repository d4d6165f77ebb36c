// `tandem init`: writes a platform and an experiment from options, or from answers on a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/init_files.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/check/catalogues.hpp"
#include "workloads/model/catalog.hpp"

namespace tandem::cli {
namespace {

constexpr int most_sites = 20;

/// One option, which is asked for on a terminal if it is not given.
struct Field {
  std::string option;
  std::string question;
  std::string value;                                ///< at first the default
  std::function<void(const std::string&)> check{};  ///< Errors: ConfigError saying what is allowed
  bool is_asked = true;
  CLI::Option* given = nullptr;
};

int parse_sites(const std::string& text) {
  const auto sites = parse_number<int>(text, 1, most_sites);
  if (!sites)
    throw ConfigError(fmt::format("expected a number of sites from 1 to {}, found '{}'", most_sites, text));
  return *sites;
}

/// 0: each device is a machine of its own.
int parse_nodes(const std::string& text) {
  constexpr int most_nodes = 500;
  if (text.empty()) return 0;
  const auto nodes = parse_number<int>(text, 1, most_nodes);
  if (!nodes)
    throw ConfigError(fmt::format("expected a number of nodes from 1 to {}, found '{}'", most_nodes, text));
  return *nodes;
}

std::function<void(const std::string&)> is_in(Names names) {
  return [names](const std::string& given) {
    const std::string text = entry_name(names, given);
    const auto known = catalogue_of(names).names();
    const std::string way = way_without_catalogue(names);
    if (!way.empty() && std::ranges::find(known, text) == known.end() && nearest_name(text, known).empty())
      throw ConfigError(fmt::format("expected a name of `tandem list {}`, found '{}'; {}",
                                    catalogue_of(names).kind(), text, way));
    catalogue_of(names).find(text);
  };
}

void check_latency(const std::string& text) {
  const auto time = parse_seconds(text);
  if (!time || time->count() <= 0.0 || !has_time_unit(text))
    throw ConfigError(
        fmt::format("expected a time above 0 with its unit ({}), found '{}'", time_examples("10ms"), text));
}

void check_name(const std::string& name) {
  constexpr auto allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (name.empty() || name.front() == '-' || name.find_first_not_of(allowed) != std::string::npos)
    throw ConfigError("init: expected a name of letters, digits, - and _, found '" + name + "'");
}

struct InitOptions {
  std::string name;
  bool force = false;
  Field sites{"--sites", "Number of sites", "1"};
  Field gpus{"--gpus",
             "Devices, such as a100:2,t4:6 (one entry per site, or each is shared equally; with --nodes: of "
             "each node)",
             "a100:4"};
  Field within{"--within", "Bandwidth of each device inside its site", "10Gbps"};
  Field between{"--between", "Bandwidth of each site to the others", "1Gbps"};
  Field latency{"--latency", "Latency from one site to another", "10ms"};
  Field model{"--model", "Model (tandem list model)", "resnet50"};
  Field dataset{"--dataset", "Data set (tandem list dataset; empty: one that suits the model)", ""};
  Field algorithm{"--algorithm", "Synchronisation algorithm (tandem list sync)", "bsp"};
  Field storage{
      "--storage",
      "Bandwidth of the disk that workers read samples from, through a cache (empty: each holds its "
      "samples)",
      ""};

  Field nodes{
      "--nodes",
      "Number of nodes, each with the devices of --gpus, which NVLink or PCIe connects; --within is then the "
      "network of each node (empty: each device is a machine of its own)",
      "",
      {},
      false};
  Field nvlink{
      "--nvlink",
      "With --nodes: bandwidth of each device inside its node, in one direction (empty: of its data sheet)",
      "",
      {},
      false};
  Field object_store{
      "--object-store",
      "Rate of an object store that workers read samples from, through a cache on each node with memory "
      "and disk (empty: each holds its samples)",
      "",
      {},
      false};

  InitOptions() {
    sites.check = [](const std::string& text) { parse_sites(text); };
    gpus.check = [this](const std::string& text) { parse_devices(text, parse_sites(sites.value)); };
    within.check = between.check = check_bandwidth;
    latency.check = check_latency;
    model.check = is_in(Names::model);
    dataset.check = [](const std::string& text) {
      if (!text.empty()) catalogue_of(Names::dataset).find(text);
    };
    algorithm.check = is_in(Names::sync);
    storage.check = [](const std::string& text) {
      if (!text.empty()) check_bandwidth(text);
    };
    nodes.check = [this](const std::string& text) {
      if (parse_nodes(text) > 0 && sites.value != "1")
        throw ConfigError("expected one site (--sites 1), found " + sites.value);
    };
    nvlink.check = [this](const std::string& text) {
      if (text.empty()) return;
      check_bandwidth(text);
      if (nodes.value.empty()) throw ConfigError("expected --nodes, too, because devices share no machine");
    };
    object_store.check = [this](const std::string& text) {
      if (text.empty()) return;
      check_bandwidth(text);
      if (!storage.value.empty())
        throw ConfigError("expected --storage or --object-store, not both, found '" + text + "'");
    };
  }
  InitOptions(const InitOptions&) = delete;
  InitOptions& operator=(const InitOptions&) = delete;
  std::vector<Field*> fields() {
    return {&sites,   &gpus,      &within,  &between, &latency, &model,
            &dataset, &algorithm, &storage, &nodes,   &nvlink,  &object_store};
  }
};

/// Until the answer is allowed. An empty answer, or the end of the input, means the default.
void ask(Field& field) {
  while (true) {
    fmt::print(stderr, "{} [{}]: ", field.question, field.value);
    std::string answer;
    if (!std::getline(std::cin, answer) || answer.empty()) return;
    try {
      field.check(answer);
      field.value = answer;
      return;
    } catch (const ConfigError& error) {
      fmt::print(stderr, "  {}\n", error.what());
    }
  }
}

/// Asks questions, on a terminal, and only if no option answers any of them.
void complete(InitOptions& options) {
  bool any_given = false;
  for (const Field* field : options.fields()) any_given = any_given || field->given->count() > 0;
  const bool asks = !any_given && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  for (Field* field : options.fields()) {
    const bool about_several = field == &options.between || field == &options.latency;
    if (asks && field->is_asked && !(about_several && options.sites.value == "1")) ask(*field);
    try {
      field->check(field->value);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("init: {}: {}", field->option, error.what()));
    }
  }
}

/// Generated from the seed, of the size for which the model was made.
std::string dataset_for(const std::string& model) {
  if (is_for_photographs(model)) return "synthetic-imagenet";
  return model == "lenet" || model == "mlp" ? "synthetic" : "synthetic-colour";
}

Bytes size_of(const std::string& dataset) {
  const DatasetInfo info =
      describe_dataset({.name = dataset, .directory = {}, .train_samples = 0, .test_samples = 0, .seed = 0});
  return Bytes(info.record_bytes().count() * info.train_samples);
}

void init(InitOptions& options) {
  check_name(options.name);
  const std::string experiment = options.name + ".yaml", platform = options.name + ".xml";
  for (const auto& file : {experiment, platform})
    if (std::filesystem::exists(file) && !options.force)
      throw ConfigError(file + " already exists; choose another name, or add --force");
  complete(options);
  const std::string dataset =
      options.dataset.value.empty() ? dataset_for(options.model.value) : options.dataset.value;
  const bool reads = !options.storage.value.empty() || !options.object_store.value.empty();
  const NewJob job{.name = options.name,
                   .sites = parse_devices(options.gpus.value, parse_sites(options.sites.value)),
                   .within = options.within.value,
                   .between = options.between.value,
                   .latency = options.latency.value,
                   .model = options.model.value,
                   .dataset = dataset,
                   .algorithm = options.algorithm.value,
                   .nodes = parse_nodes(options.nodes.value),
                   .nvlink = options.nvlink.value,
                   .object_store = options.object_store.value,
                   .storage = options.storage.value,
                   .dataset_size = reads ? size_of(dataset) : Bytes(0)};
  write_own_file(platform, platform_text(job));
  write_own_file(experiment, experiment_text(job, platform));
  // What single values do not show: for example an algorithm for one worker only.
  try {
    JobOptions check;
    check.experiment_file = experiment;
    load_job(check);
  } catch (const ConfigError&) {
    std::filesystem::remove(experiment);
    std::filesystem::remove(platform);
    throw;
  }
  if (options.within.given->count() > 0 && job.nodes == 1 && !reads)
    print_note("--within is the network between nodes, of which there is one: no message uses it");
  fmt::print("{}\n{}\n{}\ntandem simulate {} predicts the job\n", experiment, platform, summary_text(job),
             experiment);
  print_document({{"experiment", experiment}, {"platform", platform}});
}

}  // namespace

void add_init(CLI::App& app, int&) {
  auto* command = app.add_subcommand("init", "Write a commented experiment and its platform to begin with");
  const auto options = std::make_shared<InitOptions>();
  command->add_option("NAME", options->name, "Writes NAME.yaml and NAME.xml")->required();
  for (Field* field : options->fields())
    field->given = command->add_option(field->option, field->value, field->question)->capture_default_str();
  command->add_flag("--force", options->force, "Replace existing files");
  command->footer(
      "Without options, questions are asked on a terminal. Examples:\n"
      "  tandem init my-job --sites 2 --gpus a100:2,t4:6 --between 1Gbps --model resnet50 --algorithm esync\n"
      "  tandem init my-machine --gpus h200:8 --nodes 1                   8 GPUs, as DDP\n"
      "  tandem init my-cluster --gpus h100:8 --nodes 4 --within 400Gbps --object-store 500MBps\n"
      "  tandem init my-data --gpus a100:8 --storage 200MBps");
  command->callback([options] { init(*options); });
}

}  // namespace tandem::cli
