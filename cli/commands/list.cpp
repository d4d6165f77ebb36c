// `tandem list`: the names that an experiment or a platform can use.
#include "cli/commands/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/shared/chosen_offers.hpp"
#include "cli/shared/output.hpp"
#include "platforms/description.hpp"
#include "platforms/device_catalog.hpp"
#include "platforms/offers.hpp"
#include "policies/cache/policy.hpp"
#include "policies/estimates/forms.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/job/check/catalogues.hpp"
#include "workloads/job/check/idle_keys.hpp"
#include "workloads/job/check/limits.hpp"

namespace tandem::cli {
namespace {

/// How a synchronisation algorithm continues when workers depart and arrive; empty for other kinds.
std::string membership_of(Names names, const std::string& name) {
  return names == Names::sync ? sync::to_text(sync::catalog().find(name).make.membership) : "";
}

/// The data that a cache policy needs in addition to the requests; empty for other kinds.
std::string needs_of(Names names, const std::string& name) {
  if (names != Names::cache) return "";
  const cache::Factory& make = cache::catalog().find(name).make;
  std::string text = cache::describe(make.needs);
  if (make.deals_steps) text += ", equally many workers for each node";
  if (make.plans_one_job) text += ", one job";
  return text;
}

/// All entries, or the one of this name. Errors: ConfigError when there is none.
std::vector<NameCatalog::Entry> entries_of(Names names, const std::string& name) {
  const NameCatalog catalog = catalogue_of(names);
  if (name.empty()) return catalog.entries();
  return {catalog.find(name)};
}

std::string names_text(Names names, const std::string& name) {
  const auto entries = entries_of(names, name);
  std::size_t width = 0;
  for (const auto& entry : entries) {
    width = std::max(width, entry.name.size());
    for (const auto& option : entry.options) width = std::max(width, option.name.size() + 2);
  }
  std::string text;
  for (const auto& entry : entries) {
    text += fmt::format("  {:<{}}  {}\n", entry.name, width, entry.summary);
    if (!entry.paper.empty()) text += fmt::format("  {:<{}}  ({})\n", "", width, entry.paper);
    if (!entry.aliases.empty())
      text += fmt::format("  {:<{}}  other name: {}\n", "", width, fmt::join(entry.aliases, ", "));
    if (const std::string membership = membership_of(names, entry.name); !membership.empty())
      text += fmt::format("  {:<{}}  membership: {}\n", "", width, membership);
    if (const std::string needs = needs_of(names, entry.name); !needs.empty())
      text += fmt::format("  {:<{}}  needs: {}\n", "", width, needs);
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
    R"(  Names match in any case, and so do beginnings of names that only one device has. Rates are shares of the peaks
  in platforms/devices.csv. Flop/s: GPUs 40 % without tensor cores (fp32, fp16 of p100), 30 % with them; servers
  40 %; boards 15 or 10 %. Bandwidth: GPUs 80 %, servers 70 %, boards 40 %. A rate or size that
  the source does not give is "-".

  workload.precision chooses the rate. The default is fp32 for all products, so that every device computes the same.
  PyTorch's default is fp32 for matrix products, but tf32 for convolutions (cuDNN) on Ampere GPUs and later; tf32
  here allows it for both, and devices without it compute in fp32. With modelled mathematics, bf16 and fp16 need
  a device with that rate.
)";

/// All devices, or the one of this name. Errors: ConfigError when there is none.
std::vector<platforms::Device> devices_of(const std::string& name) {
  if (name.empty()) return platforms::device_catalog();
  return {platforms::find_device(name)};
}

std::string devices_text(Names, const std::string& name) {
  const auto devices = devices_of(name);
  std::size_t width = 0;
  for (const auto& device : devices) width = std::max(width, device.name.size());
  std::string text = fmt::format("  {:<{}}", "flop/s in:", width);
  for (const auto& precision : choice_names<Precision>) text += fmt::format("  {:>6}", precision.name);
  text += fmt::format("  {:>6}  {:>11}  {:>6}  source\n", "memory", "bandwidth", "launch");
  for (const auto& device : devices) {
    text += fmt::format("  {:<{}}", device.name, width);
    for (const auto& precision : choice_names<Precision>)
      text += fmt::format("  {:>6}", speed_text(device, precision.value));
    text += fmt::format("  {:>6}  {:>6.1f} GB/s  {:>3.0f} us  {}\n", memory_text(device),
                        device.memory_rate.count() * 1e-9, device.launch.count() * 1e6, device.source);
    if (const auto& aliases = platforms::device_aliases(device.name); !aliases.empty())
      text += fmt::format("  {:<{}}  other names: {}\n", "", width, fmt::join(aliases, ", "));
  }
  return text + about_devices;
}

nlohmann::json names_document(Names names, const std::string& name) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& entry : entries_of(names, name)) {
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
    if (const std::string membership = membership_of(names, entry.name); !membership.empty())
      list.back()["membership"] = membership;
    if (const std::string needs = needs_of(names, entry.name); !needs.empty()) list.back()["needs"] = needs;
  }
  return list;
}

/// All forms, or the one of this name. Errors: ConfigError when there is none.
std::vector<CatalogEntry<estimates::FormFit>> forms_of(const std::string& name) {
  if (name.empty()) return estimates::forms().entries();
  return {estimates::forms().find(name)};
}

std::string forms_text(Names, const std::string& name) {
  std::string text;
  for (const auto& form : forms_of(name)) {
    text += fmt::format("  {:<10} {}\n", form.name, form.summary);
    if (!form.paper.empty()) text += fmt::format("  {:<10} ({})\n", "", form.paper);
  }
  return text;
}

nlohmann::json forms_document(Names, const std::string& name) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& form : forms_of(name))
    list.push_back({{"name", form.name}, {"summary", form.summary}, {"paper", form.paper}});
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

nlohmann::json devices_document(Names, const std::string& name) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& device : devices_of(name))
    list.push_back({{"name", device.name},
                    {"aliases", platforms::device_aliases(device.name)},
                    {"flops_per_s", speeds_document(device)},
                    {"source", device.source},
                    {"memory_bytes", device.memory ? nlohmann::json(device.memory->count()) : nullptr},
                    {"memory_bytes_per_s", device.memory_rate.count()},
                    {"launch_s", device.launch.count()}});
  return list;
}

// ---- Offers ----

/// "60 s"; "-" for none.
std::string time_text(std::optional<Seconds> time) {
  return time && *time > Seconds(0) ? fmt::format("{:g} s", time->count()) : "-";
}

std::string offers_text(Names, const std::string& name) {
  const ChosenOffers offers = offers_of(name);
  std::size_t width = 0;
  for (const auto* offer : offers.chosen) width = std::max(width, offer->name().size());
  std::string text = fmt::format("  {:<{}}  {:>12}  {:<18}  {:>7}  {:>6}  {:>7}  {:>6}  {}\n",
                                 "provider/region/[zone/]instance/kind", width, "$ per hour", "devices",
                                 "notice", "step", "minimum", "free", "prices of");
  for (const auto* offer : offers.chosen)
    text +=
        fmt::format("  {:<{}}  {:>12}  {:<18}  {:>7}  {:>6}  {:>7}  {:>6}  {}\n", offer->name(), width,
                    to_text(offer->per_hour), fmt::format("{} x {}", offer->count, offer->device),
                    time_text(offer->notice), time_text(offer->billing_step),
                    time_text(offer->billing_minimum), time_text(offer->free_if_revoked_within), offer->date);
  for (const auto& warning : offers.warnings) text += "  warning: " + warning + '\n';
  return text +
         R"(  Prices are of the whole machine, without disk, egress and tax. They are for planning examples, not for
  buying; platforms/offers.csv has their sources. A host names an offer by words that no other one has:
  <prop id="offer" value="aws us-east-1 p4d.24xlarge on-demand"/>. Your own table: tandem list offers FILE.csv,
  and value="FILE.csv: WORDS".
)";
}

nlohmann::json offers_document(Names, const std::string& name) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto* offer : offers_of(name).chosen)
    list.push_back({{"name", offer->name()},
                    {"device", offer->device},
                    {"count", offer->count},
                    {"spot", offer->is_spot},
                    {"price_per_hour", offer->per_hour.dollars()},
                    {"billing_step_s", offer->billing_step.count()},
                    {"billing_minimum_s", offer->billing_minimum.count()},
                    {"free_if_revoked_within_s", offer->free_if_revoked_within.count()},
                    {"source", offer->source},
                    {"date", offer->date}});
  return list;
}

/// A case of a limit, or of a warning.
struct ListedLimit {
  const Limit& limit;
  const Limit::Case& at;
  std::string group;
};

/// Those of this kind whose keys begin so.
std::vector<ListedLimit> limits_of(const std::vector<LimitGroup>& groups, std::optional<Limit::Kind> kind,
                                   const std::string& key) {
  std::vector<ListedLimit> all;
  for (const LimitGroup& group : groups)
    for (const Limit& limit : group.limits())
      for (const Limit::Case& at : limit.cases)
        if (at.key.starts_with(key) && (!kind || limit.kind == *kind))
          all.push_back({limit, at, group.title});
  return all;
}

constexpr std::array limit_kinds = {
    std::pair(Limit::Kind::unsupported, "combination"),
    std::pair(Limit::Kind::unused, "no effect"),
    std::pair(Limit::Kind::value, "value"),
};

std::string text_of(std::span<const ListedLimit> limits, const std::string& example) {
  std::string text, group;
  for (const ListedLimit& one : limits) {
    if (one.group != group) text += fmt::format("    {}\n", one.group);
    group = one.group;
    text += fmt::format("      {}: expected {}\n        {}: {}\n", one.at.key, describe(one.limit, one.at),
                        example, one.at.example);
  }
  return text;
}

std::string limits_text(Names, const std::string& key) {
  std::string text;
  for (const auto& [kind, name] : limit_kinds)
    if (const auto limits = limits_of(limit_groups(), kind, key); !limits.empty())
      text += fmt::format("  {}\n{}", describe(kind), text_of(limits, "refused"));
  if (const auto warnings = limits_of({warning_group()}, std::nullopt, key); !warnings.empty())
    text += "  Warnings\n" + text_of(warnings, "warned of");
  std::string idle;
  for (const ConditionalKeys& row : conditional_keys())
    for (const std::string& one : row.keys)
      if (one.starts_with(key)) idle += fmt::format("      {}: {}\n", one, row.needs);
  if (!idle.empty())
    text += "  Keys that act only with other keys; set without them, they are warned of\n" + idle;
  if (text.empty()) throw ConfigError(fmt::format("no limit of a key '{}'", key));
  return text;
}

nlohmann::json limits_document(Names, const std::string& key) {
  nlohmann::json list = nlohmann::json::array();
  const auto add = [&](const ListedLimit& one, const char* kind, const char* example) {
    list.push_back({{"kind", kind},
                    {"group", one.group},
                    {"key", one.at.key},
                    {"expected", describe(one.limit, one.at)},
                    {example, one.at.example}});
  };
  for (const auto& [kind, name] : limit_kinds)
    for (const ListedLimit& one : limits_of(limit_groups(), kind, key)) add(one, name, "refused");
  for (const ListedLimit& one : limits_of({warning_group()}, std::nullopt, key))
    add(one, "warning", "warned of");
  for (const ConditionalKeys& row : conditional_keys())
    for (const std::string& one : row.keys)
      if (one.starts_with(key))
        list.push_back({{"kind", "acts with"}, {"key", one}, {"expected", row.needs}, {"acts", row.example}});
  return list;
}

struct Kind {
  std::string name;
  std::string title;
  Names names;
  std::string (*text)(Names, const std::string& name);
  nlohmann::json (*document)(Names, const std::string& name);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"sync", "Synchronisation algorithms (sync.algorithm)", Names::sync, names_text, names_document},
      {"collective", "All-reduce schedules (sync.collective)", Names::collective, names_text, names_document},
      {"compression",
       "Compressions of what workers send (sync.compression). Their times without a profile are estimates: "
       "bytes "
       "at the device's rate of memory; of a GPU with the start of each kernel, 2.6 us as measured on an "
       "H100. "
       "Compressions themselves were not measured",
       Names::compression, names_text, names_document},
      {"sharding", "Sharding of the model over servers (sync.sharding)", Names::sharding, names_text,
       names_document},
      {"cache", "Cache policies (data.cache)", Names::cache, names_text, names_document},
      {"trace-cache", "Cache policies for traces (tandem cache)", Names::trace_cache, names_text,
       names_document},
      {"sampling", "Samplers (data.sampling)", Names::sampling, names_text, names_document},
      {"split", "Splits of the samples (data.split)", Names::split, names_text, names_document},
      {"lifetime", "Lifetimes of machines that may be taken away", Names::lifetime, names_text,
       names_document},
      {"checkpointing", "Checkpointing policies: when a job commits its state (checkpoint.policy)",
       Names::checkpointing, names_text, names_document},
      {"recovery", "Recovery policies: what a job does when machines depart and arrive", Names::recovery,
       names_text, names_document},
      {"provisioning", "Provisioning policies: where a machine is requested (recovery.provisioning)",
       Names::provisioning, names_text, names_document},
      {"model", "Models (workload.model)", Names::model, names_text, names_document},
      {"dataset", "Data sets (workload.dataset)", Names::dataset, names_text, names_document},
      {"device", "Devices (<prop id=\"device\"> of a host), sustained rates by precision", Names::none,
       devices_text, devices_document},
      {"offer", "Offers of machines (<prop id=\"offer\"> of a host)", Names::none, offers_text,
       offers_document},
      {"predictor", "Forms of predictors (tandem fit speed, tandem fit checkpoint)", Names::none, forms_text,
       forms_document},
      {"limit", "Limits: what is refused, why, and an example", Names::none, limits_text, limits_document},
  };
  return all;
}

/// `wanted`: "all" but the hundreds of offers, or the kind's name, also in the plural.
bool is_wanted(const Kind& kind, const std::string& wanted) {
  return (wanted == "all" && kind.name != "offer") || wanted == kind.name || wanted == kind.name + 's';
}

}  // namespace

std::string list_text(const std::string& kind, const std::string& name) {
  if (kind == "all" && !name.empty()) throw ConfigError("list: expected a kind before the name " + name);
  std::string text;
  std::vector<std::string> names = {"all"};
  for (const auto& each : kinds()) {
    names.push_back(each.name);
    if (!is_wanted(each, kind)) continue;
    text += (text.empty() ? "" : "\n") + each.title + '\n' + each.text(each.names, name);
  }
  if (!text.empty()) return text;
  const std::string nearest = nearest_name(kind, names);
  throw ConfigError(fmt::format("list: expected {}, found '{}'{}", fmt::join(names, " | "), kind,
                                nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

void add_list(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "list", "List the names that experiments and platforms can use: algorithms, policies, models, devices");
  const auto kind = std::make_shared<std::string>("all"), name = std::make_shared<std::string>();
  command->add_option("KIND", *kind,
                      "sync, collective, compression, sharding, cache, sampling, split, lifetime, "
                      "checkpointing, recovery, provisioning, model, dataset, device, offer, trace-cache, "
                      "predictor, limit or all [all]");
  command->add_option("NAME", *name, "list only this one");
  command->footer(
      "Examples:\n"
      "  tandem list\n"
      "  tandem list sync       algorithms, papers, departures and arrivals of workers, options with bounds\n"
      "  tandem list sync ssp   one of them");
  command->callback([kind, name] {
    fmt::print("{}", list_text(*kind, *name));
    nlohmann::json all;
    for (const auto& each : kinds())
      if (is_wanted(each, *kind)) all[each.name] = each.document(each.names, *name);
    print_document(all);
  });
}

}  // namespace tandem::cli
