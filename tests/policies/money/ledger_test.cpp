// Bills to the cent: rules of providers, amounts as texts, and what was paid for which use.
#include "policies/money/ledger.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/rng.hpp"

namespace tandem::money {
namespace TANDEM_FILE {

struct Bill {
  const char* name;
  double stay_s;
  StayEnd end;
  const char* per_hour;
  double billed_s;
  const char* cost;
};

Billing billing_of(const char* per_hour) {
  return {.per_hour = parse_money(per_hour).value(),
          .step = Seconds(60),
          .minimum = Seconds(600),
          .free_if_revoked_within = Seconds(3600)};
}

// By hand: 3725 s are 63 minutes, 63/60 h x 3.06 = 3.213; 600.5 s are 11 minutes.
const Bill bills[] = {
    {"A", 3725, StayEnd::released, "3.06", 3780, "3.213"},
    {"B_RevokedInTheFreeTime", 3599, StayEnd::revoked, "0.918", 0, "0"},
    {"C_RevokedAtItsEnd", 3600, StayEnd::revoked, "0.918", 3600, "0.918"},
    {"D_BelowTheMinimum", 41, StayEnd::released, "0.526", 600, "0.087667"},
    {"E", 7261, StayEnd::revoked, "0.918", 7320, "1.8666"},
    {"F", 600.5, StayEnd::released, "3.06", 660, "0.561"},
};

class LedgerRow : public ::testing::TestWithParam<Bill> {};

TEST_P(LedgerRow, IsBilledByTheRules) {
  const Bill& bill = GetParam();
  const Billing billing = billing_of(bill.per_hour);
  EXPECT_EQ(billed_time(billing, Seconds(bill.stay_s), bill.end), Seconds(bill.billed_s));
  EXPECT_EQ(to_text(price_of(billing, Seconds(bill.billed_s))), bill.cost);
}

INSTANTIATE_TEST_SUITE_P(Bills, LedgerRow, ::testing::ValuesIn(bills),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Ledger, SumsToTheCent) {
  Ledger ledger;
  for (const Bill& bill : bills)
    ledger.add({.end = Seconds(bill.stay_s), .ended = bill.end, .billing = billing_of(bill.per_hour)}, {});
  EXPECT_EQ(ledger.cost(), Money(6'646'267));
  EXPECT_EQ(dollars_text(ledger.cost()), "$6.65");
}

TEST(Ledger, ALimitsEndAndOnesOwnReleaseAreNotFree) {
  const Billing billing = billing_of("1");
  for (const StayEnd end : {StayEnd::limit, StayEnd::released})
    EXPECT_EQ(billed_time(billing, Seconds(601), end), Seconds(660));
}

TEST(Ledger, TimesThatAreSumsOfFloatsNeedNoFurtherStep) {
  const Billing billing{.per_hour = Money(3600), .step = Seconds(1)};
  EXPECT_EQ(billed_time(billing, Seconds(0.1 * 3 * 10), StayEnd::released), Seconds(3));
}

// 30 min at 2 $/h, of which 15 useful, 5 wasted, 4 idle and 6 for others; 30 min more are the rest of the
// hour.
TEST(Ledger, SaysWhatWasPaidForWhichUse) {
  Ledger ledger(60.0);
  ledger.add({.begin = Seconds(10),
              .end = Seconds(40),
              .billing = {.per_hour = Money(2'000'000), .step = Seconds(3600)}},
             {.useful = Seconds(15), .wasted = Seconds(5), .idle = Seconds(4)});
  const Entry& entry = ledger.entries().front();
  EXPECT_EQ(entry.stay, Seconds(1800));
  EXPECT_EQ(entry.billed, Seconds(3600));
  EXPECT_EQ(entry.uses.useful, Money(500'000));
  EXPECT_EQ(entry.uses.wasted, Money(1'166'667));
  EXPECT_EQ(entry.uses.idle, Money(133'333));
  EXPECT_EQ(entry.uses.waiting, Money(200'000));
}

TEST(Ledger, UsesSumToTheCostAndDoublePricesDoubleIt) {
  Rng rng(7);
  const auto within = [&](double most) { return Seconds(most * rng.uniform()); };
  Ledger ledger, dearer;
  for (int i = 0; i < 200; ++i) {
    const Money price(2 * (1 + static_cast<std::int64_t>(1e6 * rng.uniform())));
    Entry entry{.end = Seconds(0.5) + within(9000), .billing = {.per_hour = price, .step = Seconds(60)}};
    const Uses<Seconds> uses{within(3000), within(3000), within(3000), {}};
    ledger.add(entry, uses);
    entry.billing.per_hour = price + price;
    dearer.add(entry, uses);
    EXPECT_EQ(ledger.entries().back().uses.sum(), ledger.entries().back().cost);
  }
  EXPECT_EQ(ledger.uses().sum(), ledger.cost());
  EXPECT_NEAR(dearer.cost().dollars(), 2 * ledger.cost().dollars(), 200 * 1e-6);
}

TEST(Money, IsReadWithoutLossAndWrittenToTheCent) {
  EXPECT_EQ(parse_money("21.957642"), Money(21'957'642));
  EXPECT_EQ(to_text(Money(21'957'642)), "21.957642");
  EXPECT_EQ(to_text(Money(500'000)), "0.5");
  EXPECT_EQ(to_text(Money(-3)), "-0.000003");
  for (const char* wrong : {"", "1.2345678", "-1", "1e3", "$2", "1,5", ".5", "12345678"})
    EXPECT_FALSE(parse_money(wrong)) << wrong;
  EXPECT_EQ(dollars_text(Money(6'646'267)), "$6.65");
  EXPECT_EQ(dollars_text(Money(87'667)), "$0.0877");
  EXPECT_EQ(dollars_text(Money()), "$0.00");
  EXPECT_EQ(dollars_text(Money(-1'234'567)), "-$1.23");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::money
