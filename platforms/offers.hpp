// Machines that can be rented, as data: the table platforms/offers.csv, and those that users bring.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// A machine of `count` devices, not a device: its price is that of the whole machine.
struct Offer {
  std::string provider;
  std::string region;
  std::string zone;  ///< empty: any one of the region
  std::string instance;
  std::string device;  ///< of the catalogue
  int count = 1;
  bool is_spot = false;
  Money per_hour{};
  std::optional<int> vcpus{};                          ///< of the machine; none: not known
  std::optional<double> memory_gib{}, network_gbps{};  ///< the same
  std::optional<Seconds> notice{}, limit{};            ///< before it is taken away; after which it ends
  Seconds billing_step{1.0}, billing_minimum{0.0};
  Seconds free_if_revoked_within{0.0};  ///< nothing is paid if the provider takes it away earlier
  std::optional<Seconds> startup{};
  std::optional<double> obtainable{};  ///< share of the time in which one is available; none: not known
  /// Regions that list the machine, all at this price, if they are three or more; else 0.
  int regions_at_one_price = 0;
  std::string source;
  std::string date;
  int days = 0;       ///< of the date, since 1970
  std::string place;  ///< "FILE:LINE"

  /// "aws/us-east-1/use1-az1/p4d.24xlarge/spot".
  std::string name() const;
};

struct Offers {
  std::string file;
  std::vector<Offer> all;
  std::vector<std::string> warnings;  ///< each with file and line
};

/// Reads and checks a table. `name` of the file for messages. Errors: ConfigError with file, line, what was
/// expected and found.
Offers read_offers(const std::string& name, std::string text);
/// Of a file. Errors: the same, and when it cannot be opened.
Offers read_offers_file(const std::string& path);
/// The table that the program contains.
const Offers& shipped_offers();

/// Those that have each word of `text` (separated by blanks or /) as provider, region, zone, instance, device
/// or kind, in any case. All of them for an empty text.
std::vector<const Offer*> matching_offers(const Offers& offers, const std::string& text);
/// The only one of these. Errors: ConfigError with the candidates.
const Offer& find_offer(const Offers& offers, const std::string& text);

/// "prices of 2024-10-01 are older than 90 days"; empty: none of the chosen offers has such a price. `today`:
/// days since 1970.
std::string age_warning(std::span<const Offer* const> chosen, int today, int most_days);
constexpr int usual_price_age_days = 90;

/// "m in all 3 regions, and 2 other machines in all of theirs, at one price each: ..."; empty: of no chosen
/// offer. A price that is the same everywhere is often that of a list, whatever the stock.
std::string one_price_warning(std::span<const Offer* const> chosen);

}  // namespace tandem::platforms
