// `tandem show`: a platform, a resolved experiment, a model, or the keys of experiments.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/show_model.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/platform_drawings.hpp"
#include "cli/shared/shipped.hpp"
#include "platforms/describe.hpp"
#include "platforms/description_json.hpp"
#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "platforms/unsupported.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/platform_svg.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/check/describe_keys.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem::cli {
namespace {

struct ShowOptions {
  JobOptions job;       ///< its file may be a platform's, or a model
  std::string dataset;  ///< of a model
  std::string keys;     ///< with which keys begin that are listed; empty: all
  bool lists_keys = false;
  bool details = false;  ///< of keys
  std::string svg;       ///< file for the drawing of a platform; empty: none
};

void show_platform(const std::string& file) {
  const auto [description, topology] = platforms::load_overview(file);
  fmt::print("{}{}", platforms::describe(description, topology),
             platforms::describe(platforms::find_unsupported(platforms::PlatformXml(file))));
}

/// Prints the experiment, and the keys that each job overrides.
void show_jobs(const LoadedJobs& several) {
  nlohmann::json jobs = nlohmann::json::object();
  for (const auto& job : several.jobs) jobs[job.name] = job.overrides;
  if (wants_json()) {
    nlohmann::json document = to_json(several.experiment);
    document["jobs"] = jobs;
    return print_document(document);
  }
  fmt::print("{}jobs:\n", to_yaml(several.experiment));
  for (const auto& job : several.jobs) fmt::print("  {}: {}\n", job.name, job.overrides.dump());
}

void show(const ShowOptions& options) {
  if (options.lists_keys) {
    if (wants_json()) throw ConfigError("show --json: expected a platform or an experiment, found --keys");
    fmt::print("{}", describe_keys(options.keys, options.details));
    return;
  }
  if (options.details) throw ConfigError("show --details: expected --keys, whose keys it explains");
  const std::string& file = options.job.experiment_file;
  if (file.empty())
    throw ConfigError("show: name a platform (.xml), an experiment (.yaml) or a model, or give --keys");
  if (names_model(file)) {
    if (!options.job.settings.empty() || !options.job.variant.empty() || !options.svg.empty())
      throw ConfigError("show: --set, --variant and --svg do not apply to a model, found " + file);
    return show_model(file, options.dataset);
  }
  if (!options.dataset.empty()) throw ConfigError("show --dataset: expected a model, found " + file);
  const bool is_platform = file.ends_with(".xml");
  if (is_platform && (!options.job.settings.empty() || !options.job.variant.empty()))
    throw ConfigError("show: --set and --variant change an experiment (.yaml), found the platform " + file);
  if (!options.svg.empty() && !is_platform)
    throw ConfigError("show --svg: expected a platform (.xml), found " + file);
  if (!options.svg.empty()) write_whole_file(options.svg, validation::platform_svg(drawing_of(file)));
  if (is_platform)
    return wants_json() ? print_document(platforms::to_json(platforms::load_platform(file)))
                        : show_platform(file);
  const LoadedExperiment loaded = load_jobs(options.job);
  if (const auto* several = std::get_if<LoadedJobs>(&loaded)) return show_jobs(*several);
  const Experiment& experiment = std::get<LoadedJob>(loaded).experiment;
  if (wants_json()) return print_document(to_json(experiment));
  fmt::print("{}", to_yaml(experiment));
}

}  // namespace

void add_show(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "show", "Show a platform (hosts, devices, links, bottlenecks), a resolved experiment or a model");
  const auto options = std::make_shared<ShowOptions>();
  command->add_option("FILE", options->job.experiment_file, "Platform (.xml), experiment (.yaml) or model")
      ->transform(or_shipped());
  add_override_options(*command, options->job);
  command
      ->add_option("--svg", options->svg,
                   "Of a platform: also write this drawing of hosts and links; the busiest link is red")
      ->type_name("FILE");
  command->add_option("--dataset", options->dataset,
                      "Of a model: for the images of this data set [cifar-10; synthetic-imagenet for models "
                      "of photographs]");
  const auto* keys =
      command
          ->add_option("--keys", options->keys,
                       "List the keys of experiment files that begin with PREFIX, with type and "
                       "default; a whole key is explained. Without PREFIX: all keys")
          ->type_name("PREFIX")
          ->expected(0, 1);
  command->add_flag("--details", options->details, "Of --keys: also explain what each key means");
  command->footer(
      "Examples:\n"
      "  tandem show platforms/rack.xml\n"
      "  tandem show platforms/rack.xml --svg rack.svg\n"
      "  tandem show workloads/experiments/mixed_lab.yaml --variant ring\n"
      "  tandem show resnet-cifar:blocks=2-3-3\n"
      "  tandem show --keys\n"
      "  tandem show --keys checkpoint\n"
      "  tandem show --keys checkpoint.to\n"
      "  tandem show --keys sync --details");
  command->callback([options, keys] {
    options->lists_keys = keys->count() > 0;
    show(*options);
  });
}

}  // namespace tandem::cli
