// The list of lifetime models, in the order in which `tandem list lifetime` prints them, and their common
// parts.
#include "policies/lifetimes/catalog.hpp"

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::lifetimes {
namespace {

/// A lifetime with a minimum and a limit: machines that would depart earlier or later depart exactly then.
class Bounded final : public Lifetime {
 public:
  Bounded(std::unique_ptr<Lifetime> lifetime, const CommonRules& rules)
      : lifetime_(std::move(lifetime)), rules_(rules) {}

  double survival(double t) const override {
    if (t < rules_.minimum()) return 1.0;
    return t < rules_.limit() ? lifetime_->survival(t) : 0.0;
  }
  double hazard(double t) const override {
    if (t < rules_.minimum()) return 0.0;
    return t < rules_.limit() ? lifetime_->hazard(t) : infinity;
  }
  double time_of_survival(double s) const override {
    return s >= 1.0 ? 0.0 : rules_.bounded(lifetime_->time_of_survival(s));
  }
  double area(double from, double to) const override {
    const double certain = std::max(0.0, std::min(to, rules_.minimum()) - from);
    const double begin = std::max(from, rules_.minimum()), end = std::min(to, rules_.limit());
    return certain + (begin < end ? lifetime_->area(begin, end) : 0.0);
  }
  double draw(Rng& rng, double start) const override { return rules_.bounded(lifetime_->draw(rng, start)); }

 private:
  std::unique_ptr<Lifetime> lifetime_;
  CommonRules rules_;
};

class IndependentFates final : public KnownFates {
 public:
  IndependentFates(std::unique_ptr<Lifetime> lifetime, const FatesSetting& setting)
      : lifetime_(std::move(lifetime)), rules_(setting.options), seed_(setting.seed) {}

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    const double lifetime = rules_.bounded(lifetime_->draw(rng, time));
    return {time + lifetime, occupant, rules_.how(rng)};
  }

 private:
  std::unique_ptr<Lifetime> lifetime_;
  CommonRules rules_;
  std::uint64_t seed_;
};

Entry with_common_options(Entry entry) {
  entry.options.push_back({"limit", "longest lifetime in seconds: a machine that is alive then departs",
                           infinity, 0.0, infinity});
  entry.options.push_back({"minimum",
                           "shortest lifetime in seconds: machines that would depart earlier "
                           "depart then",
                           0.0, 0.0, infinity});
  entry.options.push_back(
      {"lost", "share of departures that come without a notice", entry.make.lost, 0.0, 1.0});
  entry.options.push_back(
      {by_host_option,
       "other models by properties of hosts, each of which must fit one: region=eu "
       "device=k80: weibull scale=2h; region=US%20East device=k80: never (%20: a blank, as in URLs)",
       std::string()});
  return entry;
}

}  // namespace

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table = [] {
    std::vector<Entry> entries = {never(),   fixed(),       trace(),         states(),    exponential(),
                                  weibull(), early_death(), bathtub(),       empirical(), piecewise(),
                                  shocks(),  markov(),      capacity_trace()};
    std::ranges::transform(entries, entries.begin(), with_common_options);
    return Catalog<Factory>("lifetime model", std::move(entries));
  }();
  return table;
}

std::unique_ptr<Lifetime> make_lifetime(const std::string& name,
                                        const std::map<std::string, OptionValue>& given) {
  const auto& entry = catalog().find(name);
  if (entry.make.lifetime == nullptr)
    throw ConfigError("lifetime: expected a model with a distribution of lifetimes, found '" + name +
                      "', which only says when the machines of a job depart");
  const auto options = Options::resolve(name, entry.options, given);
  return std::make_unique<Bounded>(entry.make.lifetime(options), CommonRules(options));
}

std::unique_ptr<Fates> make_fates(const std::string& name, const std::map<std::string, OptionValue>& given,
                                  std::uint64_t seed, const std::vector<std::size_t>& groups) {
  const auto& entry = catalog().find(name);
  const FatesSetting setting{seed, groups, Options::resolve(name, entry.options, given)};
  if (entry.make.fates != nullptr) return entry.make.fates(setting);
  return std::make_unique<IndependentFates>(entry.make.lifetime(setting.options), setting);
}

OptionSpec seconds_option(const std::string& name, const std::string& summary, double default_value) {
  return {name, summary, default_value, 1e-9, 1e18};
}

std::vector<double> numbers_of(const std::string& owner, const std::string& option, const std::string& text,
                               double least, double most) {
  std::vector<double> numbers;
  for (const auto& part : split(text, ',')) {
    const auto number = parse_number<double>(part, least, most);
    if (!number)
      throw OptionError(owner, option,
                        "numbers of at least " + to_text(least) + (std::isinf(most) ? " (or inf)" : "") +
                            " separated by commas",
                        part);
    numbers.push_back(*number);
  }
  return numbers;
}

void expect_increasing(const std::string& owner, const std::string& option,
                       const std::vector<double>& values) {
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] <= values[i - 1])
      throw OptionError(owner, option, "a number above " + to_text(values[i - 1]) + ", the one before",
                        values[i]);
}

}  // namespace tandem::lifetimes
