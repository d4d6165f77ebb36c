// Costs of a server that a host states: read, refused, written, and what the cost model makes of them.
#include "workloads/cost/server_cost.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "workloads/cost/cost_model.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Properties = std::map<std::string, std::string>;

std::optional<ServerCost> read(const Properties& properties) {
  platforms::Host host;
  host.name = "store";
  host.cores = 8;
  host.properties = properties;
  return stated_server_cost(host, "lab.xml");
}

void refuses(const std::string& name, const std::string& value, const std::string& expected) {
  try {
    read({{name, value}});
    FAIL() << "accepted " << name << " = " << value;
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const std::string& part : {std::string("lab.xml: host 'store'"), "'" + name + "'", expected})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(ServerCost, IsReadFromProperties) {
  EXPECT_EQ(read({{"device", "t4"}, {"tandem:window", "4MiB"}}), std::nullopt);
  EXPECT_EQ(read({{"tandem:server_message", "200us"}}), ServerCost{.message = Seconds(200e-6)});
  const auto all = read({{"tandem:server_message", "1ms"},
                         {"tandem:server_tensor", "5 us"},
                         {"tandem:server_push_rate", "1.5GBps"},
                         {"tandem:server_reply_rate", "8Gbps"}});
  const ServerCost expected{.message = Seconds(1e-3),
                            .tensor = Seconds(5e-6),
                            .push_rate = BytesPerSecond(1.5e9),
                            .reply_rate = BytesPerSecond(1e9)};
  EXPECT_EQ(all, expected);
  const auto parallel = [](const char* text) {
    return read({{"tandem:server_message", "1ms"}, {"tandem:server_parallel", text}})->parallel;
  };
  EXPECT_EQ(parallel("4"), 4);
  EXPECT_EQ(parallel("16"), 8) << "on a core each";
  EXPECT_EQ(read({{"tandem:server_message", "1ms"}, {"tandem:server_variation", "0.5"}})->variation, 0.5);
}

TEST(ServerCost, RefusesWrongUnitsAndNames) {
  refuses("tandem:server_message", "200MB",
          "expected a time >= 0 (like 200us; ns us ms s min h d), found '200MB'");
  refuses("tandem:server_message", "-1us", "found '-1us'");
  refuses("tandem:server_tensor", "", "found ''");
  refuses("tandem:server_push_rate", "200us",
          "expected bytes per second > 0 (like 1.2GBps or 10Gbps; Bps kBps MBps GBps TBps KiBps MiBps GiBps "
          "bps kbps Mbps Gbps Tbps), found '200us'");
  refuses("tandem:server_push_rate", "0", "found '0'");
  refuses("tandem:server_reply_rate", "1GB", "found '1GB'");
  refuses("tandem:server_parallel", "0", "expected a whole number from 1 to 4096, found '0'");
  refuses("tandem:server_parallel", "2.5", "found '2.5'");
  refuses("tandem:server_parallel", "2", "expected other costs of the server, because");
  refuses("tandem:server_variation", "1.5", "expected a number from 0 to 1, found '1.5'");
  refuses("tandem:server_variation", "0.5", "expected other costs of the server, which vary");
  refuses("tandem:server_pushrate", "1GBps", "did you mean 'tandem:server_push_rate'?");
}

TEST(ServerCost, CountsMessagesTensorsAndBytes) {
  const ServerCost cost{.message = Seconds(1),
                        .tensor = Seconds(10),
                        .push_rate = BytesPerSecond(100),
                        .reply_rate = BytesPerSecond(50)};
  const Work push{.kind = Work::Kind::push, .bytes = Bytes(1000), .tensors = 3};
  const Work reply{.kind = Work::Kind::reply, .bytes = Bytes(1000), .tensors = 3};
  EXPECT_EQ(cost.time_of(push), Seconds(1 + 30 + 10));
  EXPECT_EQ(cost.time_of(reply), Seconds(1 + 30 + 20));
  EXPECT_EQ(cost.time_of({.kind = Work::Kind::update, .bytes = Bytes(1000)}), Seconds(0));
  EXPECT_EQ(ServerCost{.message = Seconds(2)}.time_of(push), Seconds(2)) << "bytes are free without a rate";
}

TEST(ServerCost, IsWrittenAsProperties) {
  const ServerCost cost{.message = Seconds(123.4567e-6),
                        .tensor = Seconds(1.0 / 3),
                        .push_rate = BytesPerSecond(1e9 / 7),
                        .reply_rate = {},
                        .parallel = 3,
                        .variation = 0.25};
  EXPECT_EQ(read(server_properties(cost)), cost) << "exactly";
  const Properties rounded = {{"tandem:server_message", "123.46us"},
                              {"tandem:server_parallel", "3"},
                              {"tandem:server_variation", "0.25"},
                              {"tandem:server_tensor", "3.3333e+05us"},
                              {"tandem:server_push_rate", "142.86MBps"}};
  EXPECT_EQ(server_properties(cost, true), rounded);
  EXPECT_TRUE(read(rounded));
  EXPECT_EQ(server_properties({}).size(), 1U) << "a server without costs differs from one that states none";
}

/// Of the device and of a profile.
TEST(ServerCost, TakesThePlaceOfMeasuredAndEstimatedUpdates) {
  auto profile = std::make_shared<Profile>();
  profile->compute.push_back({"m", Work::Kind::update, -1, 0, 1000, 0.5, 0, {0.5}, 0.7});
  const auto model = std::make_shared<ModelDescription>();
  const auto priced = std::make_shared<PricedModel>(model, "m", CompressionCost{}, profile);
  const platforms::Device device{
      .name = "slow", .speed = FlopsPerSecond(1), .memory_rate = BytesPerSecond(1), .launch = Seconds(1)};
  const Work update{.kind = Work::Kind::update, .bytes = Bytes(1000)};
  const Work reduce{.kind = Work::Kind::reduce, .bytes = Bytes(1000)};
  const Work push{.kind = Work::Kind::push, .bytes = Bytes(1000), .tensors = 1};
  const CostModel own(priced, device);
  EXPECT_EQ(own.price(update), Seconds(0.5));
  EXPECT_EQ(own.price(reduce), Seconds(1 + 3000));
  EXPECT_EQ(own.price(push), Seconds(0));
  EXPECT_NEAR(own.first_extra(update).count(), 0.2, 1e-12);
  const CostModel stated(priced, device, "", "", ServerCost{.message = Seconds(4)});
  EXPECT_EQ(stated.price(update), Seconds(0));
  EXPECT_EQ(stated.price(reduce), Seconds(0));
  EXPECT_EQ(stated.price(push), Seconds(4));
  EXPECT_EQ(stated.first_extra(update), Seconds(0));
  EXPECT_EQ(stated.price({.kind = Work::Kind::compress, .bytes = Bytes(4)}),
            own.price({.kind = Work::Kind::compress, .bytes = Bytes(4)}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
