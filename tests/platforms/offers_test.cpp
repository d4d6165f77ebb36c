// Offers as data: every check of a table of offers, and offers and prices of hosts.
#include "platforms/offers.hpp"

#include <gmock/gmock.h>

#include "platforms/host_price.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* header =
    "provider,region,zone,instance,device,count,memory_gib,kind,price_per_hour,currency,source,date";

std::string table(const std::string& rows, const std::string& columns = header) {
  return columns + '\n' + rows + '\n';
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct Check {
  const char* name;
  std::string text;
  const char* error;    ///< null: none
  const char* warning;  ///< null: none
};

const std::string good = "p,r,,m,t4,1,16,on-demand,1.846,USD,list,2025-11-18";

const Check checks[] = {
    {"Good", table(good), nullptr, nullptr},
    {"SpotAsOnDemand", table(good + "\np,r,z,m,t4,1,16,spot,1.846,USD,list,2025-11-18"), nullptr,
     "o.csv:3: price_per_hour: equal to the on-demand price"},
    {"SpotAboveOnDemand", table(good + "\np,r,z,m,t4,1,16,spot,1.964,USD,list,2025-11-18"),
     "o.csv:3: price_per_hour: expected at most 1.846, the on-demand price of m in o.csv:2, found '1.964'",
     nullptr},
    {"RegionsApart", table(good + "\np,s,,m,t4,1,16,on-demand,3.1,USD,list,2025-11-18"), nullptr,
     "o.csv:3: price_per_hour: m costs 3.1 in s, but 1.846 in r (o.csv:2)"},
    {"RegionsNear", table(good + "\np,s,,m,t4,1,16,on-demand,2.9,USD,list,2025-11-18"), nullptr, nullptr},
    {"PriceZero", table("p,r,,m,t4,1,16,on-demand,0,USD,list,2025-11-18"),
     "o.csv:2: price_per_hour: expected dollars above 0", nullptr},
    {"PriceMissing", table("p,r,,m,t4,1,16,on-demand,,USD,list,2025-11-18"),
     "o.csv:2: price_per_hour: expected dollars above 0", nullptr},
    {"PriceNaN", table("p,r,,m,t4,1,16,on-demand,nan,USD,list,2025-11-18"),
     "o.csv:2: price_per_hour: expected dollars above 0", nullptr},
    {"CountAgainstTheName8x", table("p,r,,gpu_8x_t4,t4,12,160,on-demand,1,USD,list,2025-11-18"),
     "o.csv:2: count: expected 8, as the name gpu_8x_t4 states, found '12'", nullptr},
    {"CountAgainstTheName8g", table("p,r,,a2-highgpu-8g,a100,4,160,on-demand,1,USD,list,2025-11-18"),
     "o.csv:2: count: expected 8, as the name a2-highgpu-8g states, found '4'", nullptr},
    {"CountOfNoPowerOfTwo", table("p,r,,m,t4,12,160,on-demand,1,USD,list,2025-11-18"), nullptr,
     "o.csv:2: count: 12 devices in one machine is unusual"},
    {"MemoryOfTheDevice", table("p,r,,m,t4,8,16,on-demand,1,USD,list,2025-11-18"), nullptr,
     "o.csv:2: memory_gib: 16 GiB is less than 8 GiB per device"},
    {"TwoCurrencies", table(good + "\np,s,,m,t4,1,16,on-demand,1.9,EUR,list,2025-11-18"),
     "o.csv:3: currency: expected USD in every row, found 'EUR'", nullptr},
    {"TwoUnits",
     table(good + ",machine\np,s,,m,t4,1,16,on-demand,1.9,USD,list,2025-11-18,device",
           std::string(header) + ",unit"),
     "o.csv:3: unit: expected machine", nullptr},
    {"TwoPriceColumns", table(good + ",1", std::string(header) + ",price_per_device_hour"),
     "o.csv:1: expected one price, of the whole machine per hour", nullptr},
    {"NoSource", table("p,r,,m,t4,1,16,on-demand,1,USD,,2025-11-18"),
     "o.csv:2: source: expected where and when the price was found", nullptr},
    {"NoDate", table("p,r,,m,t4,1,16,on-demand,1,USD,list,"),
     "o.csv:2: date: expected where and when the price was found", nullptr},
    {"NoSuchDate", table("p,r,,m,t4,1,16,on-demand,1,USD,list,2025-02-30"),
     "o.csv:2: date: expected a date such as 2024-05-01, found '2025-02-30'", nullptr},
    {"NoColumnOfPrices", table("p", "provider"), "o.csv:1: expected a column 'region', found none", nullptr},
    {"NoSuchDevice", table("p,r,,m,t44,1,16,on-demand,1,USD,list,2025-11-18"),
     "o.csv:2: device: unknown device 't44'; did you mean 't4'?", nullptr},
    {"NoSuchKind", table("p,r,,m,t4,1,16,reserved,1,USD,list,2025-11-18"),
     "o.csv:2: kind: expected on-demand | spot, found 'reserved'", nullptr},
    {"Twice", table(good + '\n' + good),
     "o.csv:3: expected every offer once, found p/r/m/on-demand in o.csv:2", nullptr},
    {"FieldsMissing", table("p,r"), "o.csv:2: expected 12 fields, found 2", nullptr},
    {"NoRows", table(""), "expected a row for each offer, found none", nullptr},
    {"NoStep", table(good + ",0", std::string(header) + ",billing_step"),
     "o.csv:2: billing_step: expected a time above 0", nullptr},
    {"ColumnMistyped", table(good + ",30s", std::string(header) + ",notise"), nullptr,
     "o.csv: column 'notise' has no effect; did you mean notice?"},
    {"ColumnWithoutEffect", table(good + ",6h", std::string(header) + ",lifetime_of_it"), nullptr,
     "o.csv: column 'lifetime_of_it' has no effect"},
    {"ObtainableAboveOne", table(good + ",1.5", std::string(header) + ",obtainable"),
     "o.csv:2: obtainable: expected a share above 0 and at most 1, found '1.5'", nullptr},
};

class OffersCheck : public ::testing::TestWithParam<Check> {};

TEST_P(OffersCheck, SaysFileAndLine) {
  const Check& check = GetParam();
  Offers offers;
  const std::string error = error_of([&] { offers = read_offers("o.csv", check.text); });
  EXPECT_THAT(error, HasSubstr(check.error == nullptr ? "no error" : check.error));
  if (check.warning != nullptr)
    EXPECT_THAT(offers.warnings, ElementsAre(HasSubstr(check.warning)));
  else
    EXPECT_THAT(offers.warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, OffersCheck, ::testing::ValuesIn(checks),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Offers, TheShippedTableHasNoWarnings) {
  const Offers& offers = shipped_offers();
  EXPECT_EQ(offers.all.size(), 411U);
  EXPECT_THAT(offers.warnings, IsEmpty());
  const Offer& p4d = find_offer(offers, "AWS use1-az2 p4d.24xlarge Spot");
  EXPECT_EQ(p4d.name(), "aws/us-east-1/use1-az2/p4d.24xlarge/spot");
  EXPECT_EQ(p4d.per_hour, Money(8'191'500));
  EXPECT_EQ(p4d.device, "a100");
  EXPECT_EQ(p4d.free_if_revoked_within, Seconds(3600));
  EXPECT_EQ(&find_offer(offers, p4d.name()), &p4d);
}

TEST(Offers, WordsOfSeveralOffersAreNoName) {
  EXPECT_THAT(
      error_of([] { find_offer(shipped_offers(), "aws p4d.24xlarge"); }),
      HasSubstr("found 33 with all words of 'aws p4d.24xlarge': aws/us-east-1/p4d.24xlarge/on-demand,"));
  EXPECT_THAT(error_of([] { find_offer(shipped_offers(), "aws p4d.99xlarge"); }), HasSubstr("found none"));
}

TEST(Offers, WarnOfOldPrices) {
  const Offers offers =
      read_offers("o.csv", table(good + "\np,s,,m,t4,1,16,on-demand,1.9,USD,list,2025-12-18"));
  const auto chosen = matching_offers(offers, "");
  const int first = offers.all.front().days;
  EXPECT_EQ(age_warning(chosen, first + 90, 90), "");
  EXPECT_EQ(age_warning(chosen, first + 91, 90), "prices are of 2025-11-18 and later, older than 90 days");
  EXPECT_EQ(age_warning({}, first + 91, 90), "");
}

TEST(Offers, OnePriceEverywhereSaysNothingOfStock) {
  const auto warning = [](const std::string& last) {
    const Offers offers =
        read_offers("o.csv", table(good + "\np,s,,m,t4,1,16,on-demand,1.846,USD,list,2025-11-18\n" + last));
    return one_price_warning(matching_offers(offers, "r"));
  };
  EXPECT_EQ(
      warning("p,t,,m,t4,1,16,on-demand,1.846,USD,list,2025-11-18"),
      "m in all 3 regions at one price: listed is not obtainable; the column obtainable states what is");
  EXPECT_EQ(warning("p,t,,m,t4,1,16,on-demand,1.9,USD,list,2025-11-18"), "");
  EXPECT_EQ(warning("p,s,z,m,t4,1,16,on-demand,1.846,USD,list,2025-11-18"), "") << "two regions";
}

Host host_with(std::map<std::string, std::string> properties) {
  Host host;
  host.name = "a";
  host.properties = std::move(properties);
  return host;
}

TEST(HostPrice, TheOfferGivesPriceAndDevice) {
  Host host = host_with({{"offer", "azure eastus NC6s_v3"}});
  EXPECT_THAT(error_of([&] { add_offer(host, "."); }), HasSubstr("property 'offer': expected an offer of"));
  host = host_with({{"offer", "aws us-east-1 p4d.24xlarge on-demand"}, {"billing_minimum", "10min"}});
  add_offer(host, ".");
  EXPECT_EQ(host.properties.at("price_per_hour"), "21.957642");
  EXPECT_EQ(host.properties.at("device"), "a100");
  EXPECT_EQ(host.properties.at("billing_minimum"), "10min") << "what the host states counts more";
  EXPECT_EQ(host.properties.at("offer"), "aws/us-east-1/p4d.24xlarge/on-demand");
  EXPECT_EQ(property_of(host, "region"), "us-east-1");
}

TEST(HostPrice, RefusesWhatIsNoPrice) {
  const auto error = [](std::map<std::string, std::string> properties) {
    Host host = host_with(std::move(properties));
    return error_of([&] { add_offer(host, "."); });
  };
  EXPECT_THAT(error({{"price_per_hour", "-1"}}), HasSubstr("property 'price_per_hour': expected dollars"));
  EXPECT_THAT(error({{"billing_step", "1s"}}), HasSubstr("expected price_per_hour or offer, too"));
  EXPECT_THAT(error({{"price_per_hour", "1"}, {"billing_step", "0"}}), HasSubstr("property 'billing_step'"));
  EXPECT_THAT(error({{"price_per_hour", "1"}, {"billing_from", "start"}}),
              HasSubstr("expected boot | request, found 'start'"));
  auto one = host_with({{"tandem:machine", "m"}, {"price_per_hour", "1"}});
  const auto other = host_with({{"tandem:machine", "m"}, {"price_per_hour", "2"}});
  const auto named = [](std::vector<Host> hosts) { name_machines(hosts); };
  EXPECT_THAT(error_of([&] { named({one, other}); }), HasSubstr("of all hosts of machine 'm'"));
  EXPECT_EQ(error_of([&] { named({one, one}); }), "no error");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
