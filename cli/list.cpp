// `tandem list`: the names that an experiment or a platform can use.
#include "cli/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/job/catalogues.hpp"

namespace tandem::cli {
namespace {

std::string names_text(Names names) {
  const NameCatalog catalog = catalogue_of(names);
  std::size_t width = 0;
  for (const auto& entry : catalog.entries()) {
    width = std::max(width, entry.name.size());
    for (const auto& option : entry.options) width = std::max(width, option.name.size() + 2);
  }
  std::string text;
  for (const auto& entry : catalog.entries()) {
    text += fmt::format("  {:<{}}  {}\n", entry.name, width, entry.summary);
    if (!entry.paper.empty()) text += fmt::format("  {:<{}}  ({})\n", "", width, entry.paper);
    if (!entry.aliases.empty())
      text += fmt::format("  {:<{}}  other name: {}\n", "", width, fmt::join(entry.aliases, ", "));
    for (const auto& option : entry.options)
      text += fmt::format("    {:<{}}  {} [{}]: {}\n", option.name, width - 2, describe_type(option),
                          to_text(option.default_value), option.summary);
  }
  return text;
}

/// "6.28 T"; "-" where the source gives none.
std::string speed_text(const platforms::Device& device, Precision precision) {
  if (!device.gives(precision)) return "-";
  const double gflops = device.speed_for(precision).count() * 1e-9;
  return gflops < 1000.0 ? fmt::format("{:.3g} G", gflops) : fmt::format("{:.3g} T", gflops * 1e-3);
}

std::string memory_text(const platforms::Device& device) {
  return device.memory ? fmt::format("{:g} GB", static_cast<double>(device.memory->count()) * 1e-9) : "-";
}

/// The lines below the table.
constexpr const char* about_devices =
    R"(  Rates are shares of the peaks in the source. Flop/s: GPUs 40 % without tensor cores (fp32, fp16 of p100), 30 %
  with them; servers 40 %; boards 15 or 10 %. Bandwidth: GPUs 80 %, servers 70 %, boards 40 %. A rate or size that
  the source does not give is "-".

  workload.precision chooses the rate. The default is fp32 for all products, so that every device computes the same.
  PyTorch's default is fp32 for matrix products, but tf32 for convolutions (cuDNN) on Ampere GPUs and later; tf32
  here allows it for both, and devices without it compute in fp32. With modelled mathematics, bf16 and fp16 need
  a device with that rate.
)";

std::string devices_text(Names) {
  std::size_t width = 0;
  for (const auto& device : platforms::device_catalog()) width = std::max(width, device.name.size());
  std::string text = fmt::format("  {:<{}}", "flop/s in:", width);
  for (const auto& precision : choice_names<Precision>) text += fmt::format("  {:>6}", precision.name);
  text += fmt::format("  {:>6}  {:>11}  {:>6}  source\n", "memory", "bandwidth", "launch");
  for (const auto& device : platforms::device_catalog()) {
    text += fmt::format("  {:<{}}", device.name, width);
    for (const auto& precision : choice_names<Precision>)
      text += fmt::format("  {:>6}", speed_text(device, precision.value));
    text += fmt::format("  {:>6}  {:>6.1f} GB/s  {:>3.0f} us  {}\n", memory_text(device),
                        device.memory_rate.count() * 1e-9, device.launch.count() * 1e6, device.source);
  }
  return text + about_devices;
}

nlohmann::json names_document(Names names) {
  nlohmann::json list = nlohmann::json::array();
  const NameCatalog catalog = catalogue_of(names);
  for (const auto& entry : catalog.entries()) {
    nlohmann::json options = nlohmann::json::array();
    for (const auto& option : entry.options)
      options.push_back({{"name", option.name},
                         {"type", describe_type(option)},
                         {"default", to_text(option.default_value)},
                         {"summary", option.summary}});
    list.push_back({{"name", entry.name},
                    {"aliases", entry.aliases},
                    {"summary", entry.summary},
                    {"paper", entry.paper},
                    {"options", options}});
  }
  return list;
}

/// By precision; without those that the source does not give.
nlohmann::json speeds_document(const platforms::Device& device) {
  nlohmann::json speeds;
  for (const auto& precision : choice_names<Precision>)
    if (device.gives(precision.value))
      speeds[std::string(precision.name)] = device.speed_for(precision.value).count();
  return speeds;
}

nlohmann::json devices_document(Names) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& device : platforms::device_catalog())
    list.push_back({{"name", device.name},
                    {"flops_per_s", speeds_document(device)},
                    {"source", device.source},
                    {"memory_bytes", device.memory ? nlohmann::json(device.memory->count()) : nullptr},
                    {"memory_bytes_per_s", device.memory_rate.count()},
                    {"launch_s", device.launch.count()}});
  return list;
}

struct Kind {
  std::string name;
  std::string title;
  Names names;
  std::string (*text)(Names);
  nlohmann::json (*document)(Names);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"sync", "Synchronisation algorithms (sync.algorithm)", Names::sync, names_text, names_document},
      {"collective", "All-reduce schedules (sync.collective)", Names::collective, names_text, names_document},
      {"compression", "Compressions of what workers send (sync.compression)", Names::compression, names_text,
       names_document},
      {"sharding", "Sharding of the model over servers (sync.sharding)", Names::sharding, names_text,
       names_document},
      {"cache", "Cache policies (data.cache)", Names::cache, names_text, names_document},
      {"trace-cache", "Cache policies for traces (tandem cache)", Names::trace_cache, names_text,
       names_document},
      {"sampling", "Samplers (data.sampling)", Names::sampling, names_text, names_document},
      {"split", "Splits of the samples (data.split)", Names::split, names_text, names_document},
      {"model", "Models (workload.model)", Names::model, names_text, names_document},
      {"dataset", "Data sets (workload.dataset)", Names::dataset, names_text, names_document},
      {"device", "Devices (<prop id=\"device\"> of a host), sustained rates by precision", Names::none,
       devices_text, devices_document},
  };
  return all;
}

/// `wanted`: "all", or the kind's name, also in the plural.
bool is_wanted(const Kind& kind, const std::string& wanted) {
  return wanted == "all" || wanted == kind.name || wanted == kind.name + 's';
}

}  // namespace

std::string list_text(const std::string& kind) {
  std::string text;
  std::vector<std::string> names = {"all"};
  for (const auto& each : kinds()) {
    names.push_back(each.name);
    if (!is_wanted(each, kind)) continue;
    text += (text.empty() ? "" : "\n") + each.title + '\n' + each.text(each.names);
  }
  if (!text.empty()) return text;
  const std::string nearest = nearest_name(kind, names);
  throw ConfigError(fmt::format("list: expected {}, found '{}'{}", fmt::join(names, " | "), kind,
                                nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

void add_list(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "list", "List the names that experiments and platforms can use: algorithms, policies, models, devices");
  const auto kind = std::make_shared<std::string>("all");
  command->add_option(
      "KIND", *kind,
      "sync, collective, compression, sharding, cache, sampling, split, model, dataset, device or all [all]");
  command->footer(
      "Examples:\n"
      "  tandem list\n"
      "  tandem list sync       algorithms, papers, options with defaults and bounds");
  command->callback([kind] {
    fmt::print("{}", list_text(*kind));
    nlohmann::json all;
    for (const auto& each : kinds())
      if (is_wanted(each, *kind)) all[each.name] = each.document(each.names);
    print_document(all);
  });
}

}  // namespace tandem::cli
