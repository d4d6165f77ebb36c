// Failures in a simulation must be reported as errors that name the cause.
#include <gtest/gtest.h>

#include <csignal>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

void expect_mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(std::string::npos, text.find(part)) << "\"" << part << "\" is missing in: " << text;
}

template <class Error>
void expect_error(const std::string& xml, const std::vector<std::string>& hosts,
                  const std::function<void(Context&)>& body, const std::vector<std::string>& parts) {
  try {
    lab::run(xml, hosts, body);
    FAIL() << "no error";
  } catch (const Error& error) {
    expect_mentions(error.what(), parts);
  }
}

TEST(Errors, AnExceptionOfABodyIsRethrown) {
  expect_error<ConfigError>(lab::star(3), lab::hosts(3),
                            [](Context& context) {
                              if (context.rank() != 1) return void(lab::receive(context, 1, 100));
                              lab::sleep(context, 1);
                              throw ConfigError("batch: expected at least 1, found 0");
                            },
                            {"batch: expected at least 1, found 0"});
}

TEST(Errors, OtherRanksAreUnwound) {
  struct Counted {
    explicit Counted(int& count) : count_(count) { ++count_; }
    ~Counted() { --count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    int& count_;
  };
  int alive = 0;
  const auto body = [&](Context& context) {
    const Counted counted(alive);
    if (context.rank() == 0) lab::receive(context, 1, 100);
    if (context.rank() == 1) lab::compute(context, 5000);
    if (context.rank() == 2) lab::send(context, 3, 1'000'000'000'000);
    lab::sleep(context, 1);
    throw std::runtime_error("enough");
  };
  expect_error<std::runtime_error>(lab::star(4), lab::hosts(4), body, {"enough"});
  EXPECT_EQ(0, alive);
}

TEST(Errors, ADeadlockNamesTheRanksAndTheirOperations) {
  expect_error<WorldError>(
      lab::star(3), lab::hosts(3),
      [](Context& context) {
        if (context.rank() == 0) lab::receive(context, 1, 100, {17, false});
        if (context.rank() == 2) {
          std::vector<Pending> pendings;
          for (const Rank from : {0, 1}) pendings.push_back(context.receive(from, {4, false}, {}));
          context.wait_any(pendings);
        }
      },
      {"deadlock", "rank 0 waits for a message of rank 1 on channel 17",
       "rank 2 waits for a message of rank 0 on channel 4 or a message of rank 1 on channel 4"});
}

TEST(Errors, AnUnknownHostIsNamedWithTheNearest) {
  expect_error<ConfigError>(lab::star(2), {"h0", "h11"}, [](Context&) {},
                            {"rank 1", "\"h11\"", "did you mean"});
}

class MissingRoute : public ::testing::TestWithParam<const char*> {};

TEST_P(MissingRoute, NamesBothHosts) {
  const std::string xml =
      lab::platform(std::string("<zone id=\"z\" routing=\"") + GetParam() +
                    "\"><host id=\"north\" speed=\"1Gf\"/><host id=\"south\" speed=\"1Gf\"/>"
                    "<host id=\"east\" speed=\"1Gf\"/>"
                    "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>"
                    "<route src=\"north\" dst=\"east\"><link_ctn id=\"l\"/></route></zone>");
  expect_error<ConfigError>(xml, {"north", "south", "east"},
                            [](Context& context) {
                              if (context.rank() == 0) {
                                lab::send(context, 2, 10);
                                lab::send(context, 1, 10);
                              } else {
                                lab::receive(context, 0, 10);
                              }
                            },
                            {"no route", "\"north\"", "\"south\""});
}

INSTANTIATE_TEST_SUITE_P(Routing, MissingRoute, ::testing::Values("Full", "Floyd", "Dijkstra"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Errors, AMissingDiskIsNamed) {
  expect_error<ConfigError>(lab::star(1), lab::hosts(1),
                            [](Context& context) {
                              Pending pending = context.read(2, Bytes(10), {});
                              context.wait(pending);
                            },
                            {"\"h0\"", "0 disk(s)", "number 2"});
}

TEST(Errors, AMissingPlatformFileIsNamed) {
  SimulationSetting setting{"/nowhere/platform.xml", {"h0"}, lab::price_by_samples, [](Context&) {}};
  try {
    simulate(setting);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    expect_mentions(error.what(), {"/nowhere/platform.xml"});
  }
}

TEST(Errors, APlatformFileThatIsNotXmlIsNamed) {
  expect_error<ConfigError>("cluster: {nodes: 4}", {"h0"}, [](Context&) {}, {"platform.xml", "expected"});
}

TEST(Errors, ASecondSimulationInAProcessIsRefused) {
  lab::run(lab::star(1), lab::hosts(1), [](Context&) {});
  expect_error<WorldError>(lab::star(1), lab::hosts(1), [](Context&) {}, {"only once"});
}

TEST(Errors, AHostThatGoesDownIsNamedAtOnce) {
  // It comes up again, so that the simulation would never end by itself.
  const lab::TemporaryFile states("states", "PERIODICITY 2\n0.5 0\n1 1\n");
  const std::string xml =
      lab::platform("<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\" state_file=\"" +
                    states.path_from_another() +
                    "\"/><host id=\"h1\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>"
                    "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route></zone>");
  expect_error<WorldError>(xml, {"h0", "h1"},
                           [](Context& context) {
                             if (context.rank() == 0) lab::receive(context, 1, 100);
                             lab::compute(context, 5000);
                           },
                           {"platform.xml", "host \"h0\"", "rank 0", "at 0.500000 s"});
}

TEST(Errors, ACrashNamesItsSignalAndTheSimulatedTime) {
  const auto crash = [](int signal) {
    lab::run(lab::star(1), lab::hosts(1), [signal](Context& context) {
      lab::sleep(context, 2);
      std::raise(signal);
    });
  };
  EXPECT_EXIT(crash(SIGSEGV), ::testing::ExitedWithCode(70),
              "SIGSEGV after 2.000000 s of simulated time; last operation: sleep of rank 0");
  EXPECT_EXIT(crash(SIGABRT), ::testing::ExitedWithCode(70), "SIGABRT after 2.000000 s");
}

TEST(Errors, AnOverflowOfARanksStackIsReported) {
  // SimGrid's smallest stacks: its own code overflows them.
  const std::string xml = lab::star(1, "", "", "<prop id=\"contexts/stack-size\" value=\"1\"/>");
  EXPECT_EXIT(lab::run(xml, lab::hosts(1), [](Context& context) { lab::compute(context, 1); }),
              ::testing::ExitedWithCode(70), "SIGSEGV after 0.000000 s");
}

/// Two hosts and a link that goes down after half a second.
std::string breaking_link(const lab::TemporaryFile& states) {
  return lab::platform(
      "<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/>"
      "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\" state_file=\"" +
      states.path_from_another() + "\"/><route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route></zone>");
}

TEST(Errors, ALinkThatGoesDownFailsItsMessages) {
  const lab::TemporaryFile states("states", "0 1\n0.5 0\n");
  const std::string xml = breaking_link(states);
  for (const double start_s : {0.0, 1.0}) {
    const auto body = [start_s](Context& context) {
      lab::sleep(context, start_s);
      if (context.rank() == 0)
        lab::send(context, 1, 5'000'000'000);
      else
        lab::receive(context, 0, 5'000'000'000);
    };
    // One engine per process: each start time runs in a child.
    EXPECT_EXIT(
        {
          expect_error<WorldError>(xml, {"h0", "h1"}, body, {"failed: link \"l\" went down at 0.500000 s"});
          std::exit(HasFailure() ? 1 : 0);
        },
        ::testing::ExitedWithCode(0), "")
        << "start at " << start_s << " s";
  }
}

TEST(Errors, ALinkThatIsDownFromTheStartIsNamed) {
  const lab::TemporaryFile states("states", "0 0\n");
  expect_error<WorldError>(breaking_link(states), {"h0", "h1"},
                           [](Context& context) {
                             if (context.rank() == 0)
                               lab::send(context, 1, 1000);
                             else
                               lab::receive(context, 0, 1000);
                           },
                           {"failed: link \"l\" is down from the start"});
}

TEST(Errors, AMessageThatFailedBeforeItsReceiveFailsTheReceive) {
  const lab::TemporaryFile states("states", "0 1\n0.5 0\n");
  const auto body = [](Context& context) {
    if (context.rank() == 0) {
      [[maybe_unused]] const Pending never_waited_for =
          context.send(1, {1, false}, {Bytes(5'000'000'000), nullptr});
      return lab::sleep(context, 3.0);
    }
    lab::sleep(context, 2.0);
    lab::receive(context, 0, 5'000'000'000);
  };
  expect_error<WorldError>(breaking_link(states), {"h0", "h1"}, body,
                           {"rank 1", "a message of rank 0", "failed"});
}

TEST(Errors, AMessageLongerThanItsReceiveIsAProgrammersError) {
  EXPECT_DEATH(lab::run(lab::star(2), lab::hosts(2),
                        [](Context& context) {
                          if (context.rank() == 0)
                            lab::send(context, 1, 200);
                          else
                            lab::receive(context, 0, 100);
                        }),
               "internal check failed.*200");
}

TEST(Errors, CtrlCEndsTheProcess) {
  EXPECT_EXIT(lab::run(lab::star(1), lab::hosts(1),
                       [](Context& context) {
                         lab::compute(context, 1);
                         std::raise(SIGINT);
                       }),
              ::testing::KilledBySignal(SIGINT), "");
}

TEST(Errors, NothingIsWrittenToStandardOutput) {
  ::testing::internal::CaptureStdout();
  expect_error<WorldError>(lab::star(2), lab::hosts(2), [](Context& context) { lab::receive(context, 0, 1); },
                           {"deadlock"});
  EXPECT_EQ("", ::testing::internal::GetCapturedStdout());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
