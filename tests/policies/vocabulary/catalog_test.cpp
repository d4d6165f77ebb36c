// Catalogues find their entries by name; a failed check prints its values.
#include "policies/vocabulary/catalog.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "policies/cache/policy.hpp"
#include "policies/collectives/schedule.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/sampling/partition.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Numbers = Catalog<int>;

const Numbers& numbers() {
  static const Numbers table("number",
                             {{"one", "the first", "", {}, 1}, {"three", "a prime", "Euclid", {}, 3}});
  return table;
}

std::string error_of(const std::string& name) {
  try {
    numbers().find(name);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Catalog, FindsEntriesByName) {
  EXPECT_EQ(numbers().find("three").make, 3);
  EXPECT_EQ(numbers().find("one").summary, "the first");
  EXPECT_EQ(numbers().names(), (std::vector<std::string>{"one", "three"}));
}

TEST(Catalog, AnUnknownNameIsAnErrorWithTheNearestAndAll) {
  EXPECT_EQ(error_of("thre"), "unknown number 'thre'; did you mean 'three'? Known: one three");
  EXPECT_EQ(error_of("seventeen"), "unknown number 'seventeen'. Known: one three");
}

TEST(CheckDeathTest, PrintsConditionLocationAndValues) {
  const int left = 3;
  EXPECT_DEATH(TANDEM_CHECK(left == 4, "left", left, "right", 4),
               "internal check failed: left == 4\n  at .*catalog_test.cpp:[0-9]+\n  with left 3 right 4");
}

/// Properties that `tandem list` and the documentation rely on.
template <class Factory>
void expect_listable(const Catalog<Factory>& catalog) {
  SCOPED_TRACE(catalog.kind());
  EXPECT_FALSE(catalog.entries().empty());
  std::vector<std::string> seen;
  for (const auto& entry : catalog.entries()) {
    EXPECT_FALSE(entry.name.empty());
    EXPECT_EQ(entry.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
        << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_EQ(entry.summary.find('\n'), std::string::npos) << entry.name;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), entry.name), 0) << entry.name << " twice";
    seen.push_back(entry.name);
    EXPECT_NO_THROW(Options::resolve(entry.name, entry.options, {}));
    std::map<std::string, OptionValue> defaults;
    for (const auto& option : entry.options) defaults[option.name] = option.default_value;
    EXPECT_NO_THROW(Options::resolve(entry.name, entry.options, defaults)) << "a default is out of bounds";
  }
}

TEST(Catalog, EveryCatalogueOfPoliciesIsListable) {
  expect_listable(cache::catalog());
  expect_listable(collectives::catalog());
  expect_listable(lifetimes::catalog());
  expect_listable(sampling::splits());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
