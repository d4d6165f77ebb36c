// `tandem show`: a platform, a resolved experiment, or the keys of experiments.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "platforms/describe.hpp"
#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment_file.hpp"

namespace tandem::cli {
namespace {

struct ShowOptions {
  std::string file;
  std::vector<std::string> settings;
  std::string variant;
  bool keys = false;
};

void show(const ShowOptions& options) {
  if (options.keys) {
    fmt::print("{}", describe_keys());
    return;
  }
  if (options.file.empty())
    throw ConfigError("show: name a platform (.xml) or an experiment (.yaml), or give --keys");
  if (options.file.ends_with(".xml")) {
    fmt::print("{}", platforms::describe(platforms::load_platform(options.file),
                                         platforms::load_topology(options.file)));
    return;
  }
  JobOptions job;
  job.experiment_file = options.file;
  job.settings = options.settings;
  job.variant = options.variant;
  fmt::print("{}", to_yaml(load_job(job).experiment));
}

}  // namespace

void add_show(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "show", "Show a platform (hosts, devices, links, bottlenecks) or a resolved experiment");
  const auto options = std::make_shared<ShowOptions>();
  command->add_option("FILE", options->file, "Platform (.xml) or experiment (.yaml)");
  command->add_option("--set", options->settings, "Override a key of the experiment")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--variant", options->variant, "Take this variant of the experiment");
  command->add_flag("--keys", options->keys, "Explain every key of an experiment file");
  command->footer(
      "Examples:\n"
      "  tandem show platforms/rack.xml\n"
      "  tandem show workloads/experiments/mixed_lab.yaml --variant ring\n"
      "  tandem show --keys");
  command->callback([options] { show(*options); });
}

}  // namespace tandem::cli
