#include "platforms/host_price.hpp"

#include <filesystem>
#include <map>

#include "platforms/offers.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"

namespace tandem::platforms {
namespace {

/// Each file is read once; many hosts have the offers of one.
const Offers& offers_of_file(const std::string& path) {
  static std::map<std::string, Offers> known;
  const auto found = known.find(path);
  return found != known.end() ? found->second : known.emplace(path, read_offers_file(path)).first->second;
}

const Offer& offer_of(const std::string& text, const std::string& folder) {
  const std::size_t colon = text.find(".csv:");
  if (colon == std::string::npos) return find_offer(shipped_offers(), text);
  const std::size_t end = colon + std::string(".csv").size();
  return find_offer(offers_of_file((std::filesystem::path(folder) / text.substr(0, end)).string()),
                    text.substr(end + 1));
}

void expect_time(const Host& host, const std::string& property, Seconds least) {
  const auto found = host.properties.find(property);
  if (found == host.properties.end()) return;
  const auto value = parse_seconds(found->second);
  if (!value || *value < least)
    throw ConfigError("property '" + property + "': expected a time of at least " + to_text(least) + " (" +
                      time_examples("1min") + "), found '" + found->second + "'");
}

void check_price(const Host& host) {
  const auto& properties = host.properties;
  const auto price = properties.find("price_per_hour");
  for (const char* name : {"billing_step", "billing_minimum", "free_if_revoked_within", "billing_from"})
    if (price == properties.end() && properties.contains(name))
      throw ConfigError(std::string("property '") + name + "': expected price_per_hour or offer, too");
  if (price == properties.end()) return;
  if (const auto money = parse_money(price->second); !money)
    throw ConfigError(
        "property 'price_per_hour': expected dollars with at most six digits behind the point, found '" +
        price->second + "'");
  constexpr Seconds least_step(1e-3);
  expect_time(host, "billing_step", least_step);
  expect_time(host, "billing_minimum", Seconds(0));
  expect_time(host, "free_if_revoked_within", Seconds(0));
  if (const auto from = properties.find("billing_from");
      from != properties.end() && from->second != "boot" && from->second != "request")
    throw ConfigError("property 'billing_from': expected boot | request, found '" + from->second + "'");
}

}  // namespace

void add_offer(Host& host, const std::string& folder) {
  if (const auto named = host.properties.find("offer"); named != host.properties.end()) {
    const Offer* offer = nullptr;
    try {
      offer = &offer_of(named->second, folder);
    } catch (const ConfigError& error) {
      throw ConfigError(std::string("property 'offer': ") + error.what());
    }
    named->second = offer->name();
    for (const auto& [name, value] : std::map<std::string, std::string>{
             {"price_per_hour", to_text(offer->per_hour)},
             {"billing_step", to_text(offer->billing_step)},
             {"billing_minimum", to_text(offer->billing_minimum)},
             {"free_if_revoked_within", to_text(offer->free_if_revoked_within)},
             {"tandem:price_date", offer->date},
             {"device", offer->device}})
      host.properties.try_emplace(name, value);
    if (offer->vcpus) host.properties.try_emplace("tandem:vcpus", std::to_string(*offer->vcpus));
    if (property_of(host, "region").empty() && !offer->region.empty())
      host.properties.emplace("tandem:region", offer->region);
  }
  check_price(host);
}

void name_machines(std::vector<Host>& hosts) {
  std::map<std::string, const Host*> known;
  for (Host& host : hosts) {
    if (!host.properties.contains("price_per_hour")) continue;
    const std::string& machine = host.properties.try_emplace("tandem:machine", host.name).first->second;
    const Host& first = *known.try_emplace(machine, &host).first->second;
    for (const char* name :
         {"price_per_hour", "billing_step", "billing_minimum", "free_if_revoked_within", "billing_from"}) {
      const auto own = host.properties.find(name);
      const auto other = first.properties.find(name);
      const bool differs = (own == host.properties.end()) != (other == first.properties.end()) ||
                           (own != host.properties.end() && own->second != other->second);
      if (differs)
        throw ConfigError("property '" + std::string(name) +
                          "': expected the same of all hosts of machine '" + machine +
                          "', found another one of '" + host.name + "' than of '" + first.name + "'");
    }
  }
}

}  // namespace tandem::platforms
