#include "platforms/offers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/csv_table.hpp"
#include "platforms/description.hpp"
#include "platforms/device_catalog.hpp"
#include "platforms/embedded_tables.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::platforms {
namespace {

constexpr const char* what_it_is = "a table of offers";

/// How many devices the name of an instance states: "gpu_8x_a100", "a2-highgpu-8g", "gpu-h100x8-640gb".
std::optional<int> count_of_name(const std::string& instance) {
  static const std::array patterns = {std::regex("(?:^|[_-])([0-9]{1,4})x(?=[_-])"),
                                      std::regex("-([0-9]{1,4})g$"), std::regex("[a-z0-9]x([0-9]{1,4})-")};
  std::smatch found;
  for (const auto& pattern : patterns)
    if (std::regex_search(instance, found, pattern)) return std::stoi(found[1]);
  return std::nullopt;
}

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

class OffersReader {
 public:
  OffersReader(const std::string& name, CsvTable table) : table_(std::move(table)) {
    offers_.file = name;
    for (const char* column : {"provider", "region", "instance", "device", "count", "kind", "price_per_hour",
                               "currency", "source", "date"})
      table_.expect(column);
    if (table_.has("price_per_device_hour"))
      table_.fail_header("one price, of the whole machine per hour (price_per_hour)",
                         "price_per_device_hour, too");
    warn_of_unknown_columns();
  }

  Offers read() {
    while (table_.next_row()) offers_.all.push_back(row());
    if (offers_.all.empty()) table_.fail_header("a row for each offer", "none");
    check_names();
    check_spot_prices();
    check_regions();
    find_one_price();
    return std::move(offers_);
  }

 private:
  void warn_of_unknown_columns() {
    static const std::vector<std::string> known = {"provider",
                                                   "region",
                                                   "zone",
                                                   "instance",
                                                   "device",
                                                   "count",
                                                   "vcpus",
                                                   "memory_gib",
                                                   "network_gbps",
                                                   "kind",
                                                   "price_per_hour",
                                                   "currency",
                                                   "notice",
                                                   "limit",
                                                   "billing_step",
                                                   "billing_minimum",
                                                   "free_if_revoked_within",
                                                   "startup",
                                                   "unit",
                                                   "obtainable",
                                                   "source",
                                                   "date"};
    for (const std::string& column : table_.columns()) {
      if (std::ranges::find(known, column) != known.end()) continue;
      const std::string nearest = nearest_name(column, known);
      warn(offers_.file, "column '" + column + "' has no effect" +
                             (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
  }

  Offer row() {
    Offer offer{.provider = needed("provider"),
                .region = needed("region"),
                .zone = table_.text("zone"),
                .instance = needed("instance"),
                .device = device(),
                .count = table_.whole("count", 1, 1024),
                .is_spot = is_spot(),
                .per_hour = price(),
                .vcpus = vcpus(),
                .memory_gib = number("memory_gib"),
                .network_gbps = number("network_gbps"),
                .notice = duration("notice"),
                .limit = duration("limit"),
                .billing_step = duration("billing_step").value_or(Seconds(1.0)),
                .billing_minimum = duration("billing_minimum").value_or(Seconds(0.0)),
                .free_if_revoked_within = duration("free_if_revoked_within").value_or(Seconds(0.0)),
                .startup = duration("startup"),
                .obtainable = number("obtainable"),
                .source = needed("source"),
                .date = needed("date"),
                .days = table_.date("date"),
                .place = table_.place()};
    check_units();
    if (offer.billing_step <= Seconds(0.0)) table_.fail("billing_step", "a time above 0", "0");
    if (offer.obtainable.value_or(1.0) > 1.0)
      table_.fail("obtainable", "a share above 0 and at most 1", table_.text("obtainable"));
    check_machine(offer);
    return offer;
  }

  std::optional<int> vcpus() {
    if (!table_.is_given("vcpus")) return std::nullopt;
    return table_.whole("vcpus", 1, 100'000);
  }

  std::string needed(const std::string& column) const {
    const std::string text = table_.text(column);
    if (text.empty())
      table_.fail(column,
                  column == "source" || column == "date" ? "where and when the price was found" : "a name",
                  "");
    return text;
  }

  std::string device() const {
    try {
      return find_device(needed("device")).name;
    } catch (const ConfigError& error) {
      throw ConfigError(table_.place() + ": device: " + error.what());
    }
  }

  bool is_spot() const {
    const std::string kind = table_.text("kind");
    if (kind != "spot" && kind != "on-demand") table_.fail("kind", "on-demand | spot", kind);
    return kind == "spot";
  }

  Money price() const {
    const auto price = parse_money(table_.text("price_per_hour"));
    if (!price || *price <= Money())
      table_.fail("price_per_hour", "dollars above 0 with at most six digits behind the point",
                  table_.text("price_per_hour"));
    return *price;
  }

  std::optional<double> number(const std::string& column) const {
    return table_.is_given(column) ? std::optional(table_.positive(column)) : std::nullopt;
  }

  std::optional<Seconds> duration(const std::string& column) const {
    return table_.is_given(column) ? std::optional(Seconds(table_.duration(column))) : std::nullopt;
  }

  void check_units() const {
    if (const std::string currency = table_.text("currency"); currency != "USD")
      table_.fail("currency", "USD in every row", currency);
    if (table_.has("unit") && table_.text("unit") != "machine")
      table_.fail("unit", "machine: the price of all devices of a machine together", table_.text("unit"));
  }

  void warn(const std::string& place, const std::string& text) {
    offers_.warnings.push_back(place + ": " + text);
  }

  void check_machine(const Offer& offer) {
    if (const auto stated = count_of_name(offer.instance); stated && *stated != offer.count)
      table_.fail("count", fmt::format("{}, as the name {} states", *stated, offer.instance),
                  table_.text("count"));
    if (!is_power_of_two(offer.count))
      warn(offer.place, fmt::format("count: {} devices in one machine is unusual", offer.count));
    constexpr double least_gib = 8.0;
    if (offer.memory_gib && *offer.memory_gib < least_gib * offer.count)
      warn(offer.place,
           fmt::format("memory_gib: {} GiB is less than 8 GiB per device; it may be the memory of a device, "
                       "not of the machine",
                       *offer.memory_gib));
  }

  void check_names() const {
    std::map<std::string, std::string> places;
    for (const Offer& offer : offers_.all)
      if (const auto [known, is_new] = places.emplace(offer.name(), offer.place); !is_new)
        throw ConfigError(fmt::format("{}: expected every offer once, found {} in {}, too", offer.place,
                                      offer.name(), known->second));
  }

  /// Of the same machine in the same region.
  void check_spot_prices() {
    std::map<std::tuple<std::string, std::string, std::string>, const Offer*> on_demand;
    for (const Offer& offer : offers_.all)
      if (!offer.is_spot) on_demand[{offer.provider, offer.region, offer.instance}] = &offer;
    for (Offer& offer : offers_.all) {
      const auto same = on_demand.find({offer.provider, offer.region, offer.instance});
      if (!offer.is_spot || same == on_demand.end()) continue;
      const Offer& other = *same->second;
      if (offer.per_hour > other.per_hour)
        throw ConfigError(fmt::format(
            "{}: price_per_hour: expected at most {}, the on-demand price of {} in {}, found '{}': one of "
            "the two is another product",
            offer.place, to_text(other.per_hour), offer.instance, other.place, to_text(offer.per_hour)));
      if (offer.per_hour < other.per_hour || offer.obtainable) continue;
      offer.obtainable = 0.0;
      warn(offer.place,
           "price_per_hour: equal to the on-demand price: no spot machine can be had, unless the "
           "column obtainable states a share");
    }
  }

  /// Once for each machine, with the cheapest and the dearest region.
  void check_regions() {
    constexpr double most_usual = 1.6;
    std::map<std::pair<std::string, std::string>, std::pair<const Offer*, const Offer*>> range;
    for (const Offer& offer : offers_.all) {
      if (offer.is_spot) continue;
      auto& [low, high] = range.try_emplace({offer.provider, offer.instance}, &offer, &offer).first->second;
      if (offer.per_hour < low->per_hour) low = &offer;
      if (offer.per_hour > high->per_hour) high = &offer;
    }
    for (const auto& [machine, ends] : range)
      if (const auto& [low, high] = ends; high->per_hour.dollars() > most_usual * low->per_hour.dollars())
        warn(
            high->place,
            fmt::format("price_per_hour: {} costs {} in {}, but {} in {} ({}): one of the two may be another "
                        "contract (reserved, queued)",
                        machine.second, to_text(high->per_hour), high->region, to_text(low->per_hour),
                        low->region, low->place));
  }

  void find_one_price() {
    constexpr std::size_t least_regions = 3;
    using Machine = std::tuple<std::string, std::string, bool>;
    struct Listed {
      std::set<std::string> regions;
      std::set<Money> prices;
    };
    std::map<Machine, Listed> listed;
    const auto machine = [](const Offer& offer) {
      return Machine(offer.provider, offer.instance, offer.is_spot);
    };
    for (const Offer& offer : offers_.all) {
      listed[machine(offer)].regions.insert(offer.region);
      listed[machine(offer)].prices.insert(offer.per_hour);
    }
    for (Offer& offer : offers_.all)
      if (const Listed& of = listed.at(machine(offer));
          of.prices.size() == 1 && of.regions.size() >= least_regions)
        offer.regions_at_one_price = static_cast<int>(of.regions.size());
  }

  CsvTable table_;
  Offers offers_;
};

bool has_word(const Offer& offer, const std::string& word) {
  const auto is_word = [&](const std::string& text) { return lower(text) == word; };
  return is_word(offer.provider) || is_word(offer.region) || is_word(offer.zone) || is_word(offer.instance) ||
         word == (offer.is_spot ? "spot" : "on-demand") || is_word(offer.device) ||
         std::ranges::any_of(device_aliases(offer.device), is_word);
}

}  // namespace

std::string Offer::name() const {
  return provider + '/' + region + '/' + (zone.empty() ? "" : zone + '/') + instance +
         (is_spot ? "/spot" : "/on-demand");
}

Offers read_offers(const std::string& name, std::string text) {
  return OffersReader(name, CsvTable(name, std::move(text), what_it_is)).read();
}

Offers read_offers_file(const std::string& path) {
  return OffersReader(path, CsvTable(path, what_it_is)).read();
}

const Offers& shipped_offers() {
  static const Offers offers = read_offers("platforms/offers.csv", offers_table());
  return offers;
}

std::vector<const Offer*> matching_offers(const Offers& offers, const std::string& text) {
  const auto words = words_in(lower(text), " /");
  std::vector<const Offer*> matching;
  for (const Offer& offer : offers.all)
    if (std::ranges::all_of(words, [&](const std::string& word) { return has_word(offer, word); }))
      matching.push_back(&offer);
  return matching;
}

const Offer& find_offer(const Offers& offers, const std::string& text) {
  const auto found = matching_offers(offers, text);
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw ConfigError(
        fmt::format("expected an offer of {} (tandem list offers), found none with all words of "
                    "'{}'",
                    offers.file, text));
  constexpr std::size_t most = 6;
  std::vector<std::string> names;
  for (const Offer* offer : found)
    if (names.size() < most) names.push_back(offer->name());
  throw ConfigError(fmt::format("expected one offer of {}, found {} with all words of '{}': {}{}",
                                offers.file, found.size(), text, fmt::join(names, ", "),
                                found.size() > most ? ", ..." : ""));
}

std::string age_warning(std::span<const Offer* const> chosen, int today, int most_days) {
  const auto oldest = std::ranges::min_element(chosen, {}, [](const Offer* offer) { return offer->days; });
  if (oldest == chosen.end() || today - (*oldest)->days <= most_days) return "";
  return fmt::format("prices are of {} and later, older than {} days", (*oldest)->date, most_days);
}

std::string one_price_warning(std::span<const Offer* const> chosen) {
  const Offer* first = nullptr;
  std::set<std::string> others;
  for (const Offer* offer : chosen) {
    if (offer->regions_at_one_price == 0 || offer->obtainable) continue;
    if (first == nullptr) first = offer;
    if (offer->instance != first->instance) others.insert(offer->instance);
  }
  if (first == nullptr) return "";
  return fmt::format(
      "{} in all {} regions{} at one price: listed is not obtainable; the column obtainable states what is",
      first->instance, first->regions_at_one_price,
      others.empty() ? "" : fmt::format(", and {} other machines in all of theirs,", others.size()));
}

}  // namespace tandem::platforms
