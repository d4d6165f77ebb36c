// Simulated jobs whose checkpointing policies plan by failures: every plan against the closed form, for the
// machines, ages, departures and costs that the results themselves record.
#include <fmt/format.h>

#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/checkpointing/policy.hpp"
#include "tests/cli/second_steps.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// What is known of a machine at some time.
struct Known {
  int slot = 0;
  double age = 0.0;
};

/// What a policy should know when it plans.
struct Knowledge {
  double now = 0.0;
  double cost = 0.0;                 ///< of a commit
  std::vector<Known> machines = {};  ///< that are there
  double observed = 0.0;             ///< seconds of all machines so far
  int departures = 0;
};

/// The minimum of e^((w + C)/M) - 1 over w, by Lambert's function.
double optimum(double cost, double mtbf) {
  return mtbf * (1.0 + boost::math::lambert_w0(-std::exp(-cost / mtbf - 1.0)));
}

double young(double cost, double mtbf) { return std::sqrt(2.0 * cost * mtbf); }

double daly(double cost, double mtbf) {
  return young(cost, mtbf) * (1.0 + std::sqrt(cost / (2.0 * mtbf)) / 3.0 + cost / (18.0 * mtbf)) - cost;
}

/// The shortest w that is the optimum for the mean rate within w and its commit.
double optimum_by_age(const Knowledge& known, const std::function<double(double age)>& rate) {
  boost::math::quadrature::tanh_sinh<double> integral;
  const auto excess = [&](double work) {
    const double time = work + known.cost;
    double failures = 0.0;
    for (const Known& machine : known.machines)
      failures += integral.integrate(rate, machine.age, machine.age + time);
    return optimum(known.cost, time / failures) - work;
  };
  double high = 1e-3;
  while (excess(high) > 0.0) high *= 2.0;
  std::uintmax_t most = 200;
  const auto root = boost::math::tools::toms748_solve(excess, high / 2.0, high,
                                                      boost::math::tools::eps_tolerance<double>(40), most);
  return root.first;
}

/// The slots of workers a and b are 0 and 1; that of the server s, if its machine counts, is 2.
class PlannedCommits : public SecondSteps {
 protected:
  /// Rounds of a second; only the server has a disk, so a commit takes the time of its state there.
  std::string job(const std::string& settings, const std::string& server_lifetime = "") const {
    const std::string own =
        server_lifetime.empty() ? "" : "<prop id='tandem:lifetime' value='" + server_lifetime + "'/>";
    return steps_of_a_second(
        "<host id='a' speed='1Tf'/><host id='b' speed='1Tf'/><host id='s' speed='1Tf'><disk id='disk' "
        "read_bw='100MBps' write_bw='50MBps'/>" +
            own + "</host>" + links_of_three("100GBps"),
        "placement: {workers: [a, b], servers: [s]}\n"
        "recovery: {mode: restart, policy: restart, restarts: 1000}\n",
        settings + " --decisions --force -q");
  }

  static Knowledge knowledge_at(const Results& results, double now, double cost) {
    Knowledge known{.now = now, .cost = cost};
    std::map<int, double> since;
    const auto end = [&](int slot, double at) { known.observed += at - since.at(slot); };
    for (const auto& change : results.journal.membership) {
      const int slot = change.role == "worker" ? change.slot : 2;
      const double at = change.time.count();
      if (at > now) break;
      const bool begins = change.event == "ready" || (change.event == "joined" && at == 0.0);
      if (begins) since[slot] = at;
      if (change.event != "departed") continue;
      end(slot, at);
      since.erase(slot);
      ++known.departures;
    }
    for (const auto& [slot, began] : since) {
      end(slot, now);
      known.machines.push_back({slot, now - began});
    }
    return known;
  }

  using Expected = std::function<double(const Knowledge&)>;
  /// Every plan in seconds is the expected one, to a millionth. Returns their number.
  static int expect_plans(const Results& results, const Expected& expected) {
    int plans = 0;
    double cost = 0.0;
    std::set<double> starts;
    for (const auto& record : results.journal.decisions) {
      if (record.side != "checkpointing" || record.event.starts_with("restore")) continue;
      const auto event = checkpointing::parse_event(record.event);
      if (const auto* committed = std::get_if<checkpointing::Committed>(&event)) {
        if (cost == 0.0) cost = committed->duration.count();
        EXPECT_NEAR(committed->duration.count(), cost, 1e-9);
      }
      const double now = std::visit([](const auto& one) { return one.now.count(); }, event);
      for (const auto& decision : checkpointing::parse_decisions(record.decisions)) {
        const auto* seconds = std::get_if<checkpointing::NextCommitInSeconds>(&decision);
        if (seconds == nullptr) continue;
        ++plans;
        const double closed_form = expected(knowledge_at(results, now, cost));
        EXPECT_NEAR(seconds->work.count() / closed_form, 1.0, 1e-6)
            << record.event << "\nplanned " << seconds->work.count() << ", closed form " << closed_form;
      }
    }
    return plans;
  }
  /// Of the policy that was told last.
  static int told(const Results& results, const std::string& event) {
    int count = 0;
    for (const auto& record : results.journal.decisions)
      count += record.side == "checkpointing" && record.event.starts_with(event) ? 1 : 0;
    return count;
  }
};

struct Counted {
  std::string settings;
  std::string server_lifetime;
  int machines = 0;
  std::string policy = "optimal";
  double (*interval)(double cost, double mtbf) = optimum;
};
void PrintTo(const Counted& job, std::ostream* stream) {
  *stream << job.policy << ' ' << job.settings << job.server_lifetime;
}

/// M is the mean time between failures of a machine over the number of those whose loss stops the job.
TEST_F(PlannedCommits, CountTheMachinesWhoseLossStopsTheJob) {
  const std::string live = "--set transience.lifetime=exponential --set transience.options.mean=1e9 ";
  for (const Counted& counted :
       {Counted{live, "", 2}, Counted{live, "", 2, "young", young}, Counted{live, "", 2, "daly", daly},
        Counted{live, "exponential mean=1e9", 3}, Counted{live, "never", 2},
        Counted{live + "--set placement.servers=[a]", "", 2},
        Counted{live + "--set recovery.mode=in-place --set recovery.policy=replace", "exponential mean=1e9",
                1},
        Counted{"--set recovery.mode=in-place --set recovery.policy=replace", "", 3}}) {
    SCOPED_TRACE(::testing::PrintToString(counted));
    const Results all = simulate(job("--set checkpoint.policy=" + counted.policy +
                                         " --set 'checkpoint.options={mtbf_s: 60}' " + counted.settings,
                                     counted.server_lifetime),
                                 "out");
    EXPECT_EQ(told(all, "ready"), counted.machines);
    if (counted.settings.find("[a]") != std::string::npos) continue;  // no disk, no cost
    EXPECT_GE(expect_plans(all,
                           [&](const Knowledge& known) {
                             return counted.interval(known.cost, 60.0 / counted.machines);
                           }),
              1);
  }
}

/// Counts and ages survive the restarts; hours of machines are scaled as their lifetimes are.
TEST_F(PlannedCommits, LearnTheRateFromTheDeparturesOfAllGenerations) {
  for (const double scale : {1.0, 20.0}) {
    const Results all = simulate(
        job(fmt::format("--set checkpoint.policy=optimal --set 'checkpoint.options={{prior_failures: 2, "
                        "prior_hours: {}}}' --set transience.lifetime=exponential --set "
                        "transience.options.mean={} --set transience.start={} --set transience.time_scale={} "
                        "--set stop.rounds=60 ",
                        100.0 * scale / 3600.0, 40.0 * scale, 3.0 * scale, scale)),
        "out");
    const int departures = static_cast<int>(all.info.generations.size()) - 1;
    EXPECT_GE(departures, 3);
    const int plans = expect_plans(all, [](const Knowledge& known) {
      const double rate = (2.0 + known.departures) / (100.0 + known.observed);
      return optimum(known.cost, 1.0 / (rate * static_cast<double>(known.machines.size())));
    });
    EXPECT_GT(plans, departures);
    EXPECT_GE(told(all, "departed"), departures);
    expect_replayed(all, as_measured(all));
  }
}

struct Aging {
  std::string lifetime;                    ///< settings
  std::function<double(double age)> rate;  ///< in the time of the job
  std::string server_lifetime = {};
  std::function<double(double age)> rate_of_server = {};
};

/// The lifetimes that the job states, at the ages that its machines have, also after they were replaced.
TEST_F(PlannedCommits, HazardFollowsTheLifetimesAndAgesOfTheMachines) {
  const auto weibull = [](double shape, double scale) {
    return [=](double age) { return shape / scale * std::pow(age / scale, shape - 1.0); };
  };
  const auto constant = [](double mean) { return [=](double) { return 1.0 / mean; }; };
  const std::string model = "--set transience.lifetime=", option = " --set transience.options.";
  const Aging cases[] = {
      {model + "exponential" + option + "mean=40", constant(40)},
      {model + "weibull" + option + "shape=0.5" + option + "scale=30", weibull(0.5, 30)},
      {model + "weibull" + option + "shape=2" + option + "scale=900 --set transience.time_scale=20",
       weibull(2.0, 45)},
      {model + "exponential" + option + "mean=40", constant(40), "exponential mean=90", constant(90)},
      // Options that are given hold instead.
      {model + "exponential" + option + "mean=40 --set 'checkpoint.options={shape: 0.7, scale_s: 50}'",
       weibull(0.7, 50)}};
  for (const Aging& machines : cases) {
    SCOPED_TRACE(machines.lifetime);
    const Results all =
        simulate(job(machines.lifetime + " --set checkpoint.policy=hazard --set transience.start=3 --set "
                                         "stop.rounds=40 --set seed=2",
                     machines.server_lifetime),
                 "out");
    EXPECT_GE(all.info.generations.size(), 2U);
    const int plans = expect_plans(all, [&](const Knowledge& known) {
      if (!machines.rate_of_server) return optimum_by_age(known, machines.rate);
      double rate = 0.0;
      for (const Known& machine : known.machines)
        rate += machine.slot == 2 ? machines.rate_of_server(0.0) : machines.rate(0.0);
      return optimum(known.cost, 1.0 / rate);
    });
    EXPECT_GE(plans, 3);
    expect_replayed(all, as_measured(all));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
