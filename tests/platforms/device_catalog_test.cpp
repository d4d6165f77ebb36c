// The catalogue's entries are usable and plausible; entries are found by name; descriptions survive JSON.
#include "platforms/device_catalog.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "platforms/description.hpp"
#include "platforms/description_index.hpp"
#include "platforms/description_json.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Description sample() {
  Description description;
  description.file = "lab.xml";
  Host host;
  host.name = "node-1";
  host.speed = FlopsPerSecond(1.0 / 3.0 * 1e9);
  host.cores = 4;
  host.device = find_device("v100");
  host.disks = {{"disk", BytesPerSecond(2e8), BytesPerSecond(1.5e8)}};
  host.properties = {{"price_per_hour", "3.06"}, {"note", "a \"quoted\" <one>"}};
  description.hosts = {host};
  description.links = {{"cable", BytesPerSecond(1.25e8), Seconds(5e-5), "SPLITDUPLEX"}};
  description.config = {{"network/model", "CM02"}};
  return description;
}

TEST(DeviceCatalog, NamesAreDistinctAndFound) {
  std::set<std::string> names;
  for (const auto& device : device_catalog()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_EQ(&find_device(device.name), &device);
    for (const auto& alias : device_aliases(device.name)) EXPECT_EQ(&find_device(alias), &device);
  }
}

TEST(DeviceCatalog, FiguresArePlausible) {
  for (const auto& device : device_catalog()) {
    EXPECT_GT(device.speed.count(), 1e9) << device.name;
    EXPECT_LT(device.speed.count(), 1e15) << device.name;
    for (const auto& [precision, speed] : device.other_speeds) {
      EXPECT_GE(speed, device.speed) << device.name << ' ' << to_text(precision);
      EXPECT_LT(speed.count(), 1e15) << device.name << ' ' << to_text(precision);
    }
    EXPECT_GT(device.memory_rate.count(), 1e9) << device.name;
    EXPECT_LT(device.memory_rate.count(), 1e13) << device.name;
    EXPECT_GT(device.launch.count(), 0.0) << device.name;
    EXPECT_LT(device.launch.count(), 1e-3) << device.name;
  }
}

TEST(DeviceCatalog, SpeedsFollowFromTheDataSheet) {
  EXPECT_NEAR(find_device("v100").speed.count(), 0.40 * 15.7e12, 1.0);
  const Device& a100 = find_device("a100");
  EXPECT_NEAR(a100.speed.count(), 0.40 * 19.5e12, 1.0);
  EXPECT_NEAR(a100.speed_for(Precision::tf32).count(), 0.30 * 156e12, 1.0);
  EXPECT_NEAR(a100.speed_for(Precision::bf16).count(), 0.30 * 312e12, 1.0);
  EXPECT_NEAR(find_device("h200").speed_for(Precision::tf32).count(), 148.35e12, 1.0);
  EXPECT_NEAR(find_device("t4").speed.count(), 0.40 * 8.1e12, 1.0);
  EXPECT_NEAR(find_device("t4").speed_for(Precision::fp16).count(), 0.30 * 65e12, 1.0);
  EXPECT_NEAR(find_device("p100").speed_for(Precision::fp16).count(), 0.40 * 18.7e12, 1.0);
  EXPECT_NEAR(find_device("xeon-e5-2650-v4").speed.count(), 0.40 * 12 * 2.2e9 * 32, 1.0);
  EXPECT_NEAR(find_device("raspberry-pi-4").speed.count(), 0.15 * 4 * 1.5e9 * 8, 1.0);
  EXPECT_NEAR(find_device("espressobin").speed.count(), 0.10 * 2 * 1.2e9 * 8, 1.0);
}

TEST(DeviceCatalog, NamesMatchInAnyCaseAndByTheirBeginning) {
  EXPECT_EQ(find_device("A100").name, "a100");
  EXPECT_EQ(find_device("a100-40gb").name, "a100");
  EXPECT_EQ(find_device("H100-SXM5").name, "h100");
  EXPECT_EQ(find_device("v100-16gb-sxm").name, "v100");
  EXPECT_EQ(find_device("MI300").name, "mi300x");
  EXPECT_EQ(error_of([] { find_device("A100-80gb"); }),
            "device 'A100-80gb' is not unique; expected one of: a100-80gb-sxm a100-80gb-pcie");
}

TEST(DeviceCatalog, HasTheDevicesOfTheSharedTable) {
  EXPECT_EQ(device_catalog().size(), 45U);
  EXPECT_NEAR(find_device("b200").speed_for(Precision::bf16).count(), 0.30 * 2250e12, 1.0);
  EXPECT_NEAR(find_device("l40s").speed.count(), 0.40 * 91.6e12, 1.0);
  EXPECT_NEAR(find_device("mi300x").memory_rate.count(), 0.80 * 5300e9, 1.0);
  EXPECT_EQ(find_device("l40").speed_for(Precision::tf32), find_device("l40").speed)
      << "no slower than in fp32";
}

struct BadTable {
  const char* name;
  const char* row;
  const char* message;
};

class DeviceTable : public ::testing::TestWithParam<BadTable> {};

TEST_P(DeviceTable, SaysFileAndLine) {
  const auto error = error_of([] {
    read_devices("d.csv", std::string("device,aliases,kind,cores,ghz,flops_per_cycle,memory_gbps,fp32,share,"
                                      "memory_share,launch_us,source\nx1,,gpu,,,,100,10,0.4,0.8,20,sheet\n") +
                              GetParam().row + '\n');
  });
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Each, DeviceTable,
    ::testing::Values(BadTable{"Good", "x2,x3,board,4,1.5,8,3.6,,0.1,0.4,20,sheet", "no error"},
                      BadTable{"Twice", "x1,,gpu,,,,100,10,0.4,0.8,20,sheet",
                               "d.csv:3: device: expected a name that no other device has, found 'x1'"},
                      BadTable{"AliasTwice", "x2,x1,gpu,,,,100,10,0.4,0.8,20,sheet",
                               "d.csv:3: aliases: expected a name that no other device has, found 'x1'"},
                      BadTable{"UpperCase", "X2,,gpu,,,,100,10,0.4,0.8,20,sheet",
                               "d.csv:3: device: expected a name in lower case"},
                      BadTable{"Kind", "x2,,card,,,,100,10,0.4,0.8,20,sheet",
                               "d.csv:3: kind: expected gpu | server | board"},
                      BadTable{"NoPeak", "x2,,gpu,,,,100,,0.4,0.8,20,sheet",
                               "d.csv:3: fp32: expected a number above 0, found ''"},
                      BadTable{"NaN", "x2,,gpu,,,,nan,10,0.4,0.8,20,sheet",
                               "d.csv:3: memory_gbps: expected a number above 0"},
                      BadTable{"Share", "x2,,gpu,,,,100,10,1.4,0.8,20,sheet",
                               "d.csv:3: share: expected a share above 0 and at most 1"},
                      BadTable{"NoSource", "x2,,gpu,,,,100,10,0.4,0.8,20,",
                               "d.csv:3: source: expected where the figures come from"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(DeviceCatalog, EveryFigureHasASource) {
  for (const auto& device : device_catalog()) EXPECT_FALSE(device.source.empty()) << device.name;
}

TEST(DeviceCatalog, APrecisionThatTheDataSheetDoesNotGive) {
  const Device& t4 = find_device("t4");
  EXPECT_EQ(t4.given_precisions(), "fp32 | fp16");
  EXPECT_EQ(find_device("a100").given_precisions(), "fp32 | tf32 | bf16 | fp16");
  EXPECT_EQ(find_device("raspberry-pi-4").given_precisions(), "fp32");
  for (const Precision unknown : {Precision::tf32, Precision::bf16}) {
    EXPECT_FALSE(t4.gives(unknown));
    EXPECT_EQ(t4.speed_for(unknown), t4.speed);
    EXPECT_EQ(t4.precision_of_speed_for(unknown), "fp32");
  }
  EXPECT_EQ(t4.precision_of_speed_for(Precision::fp16), "fp16");
  Device unnamed;
  unnamed.has_one_speed = true;
  EXPECT_TRUE(unnamed.gives(Precision::bf16));
  EXPECT_EQ(unnamed.precision_of_speed_for(Precision::bf16), "");
}

TEST(DeviceCatalog, EveryGpuHasTheMemoryOfItsDataSheet) {
  for (const auto& device : device_catalog())
    if (device.is_gpu) {
      ASSERT_TRUE(device.memory) << device.name;
      const auto gbytes = std::to_string(device.memory->count() / 1'000'000'000) + " GB";
      EXPECT_NE(device.source.find(gbytes), std::string::npos) << device.name << ": " << device.source;
    }
  EXPECT_EQ(find_device("t4").memory, Bytes(16'000'000'000));
  EXPECT_EQ(find_device("raspberry-pi-zero-2").memory, Bytes(500'000'000));
  EXPECT_FALSE(find_device("raspberry-pi-4").memory) << "sold in several sizes";
  EXPECT_FALSE(find_device("epyc-7742").memory) << "its board holds memory of any size";
}

TEST(DeviceCatalog, UnknownDeviceNamesTheNearestAndAll) {
  const auto message = error_of([] { find_device("v101"); });
  EXPECT_NE(message.find("unknown device 'v101'; did you mean 'v100'?"), std::string::npos) << message;
  for (const auto& device : device_catalog()) EXPECT_NE(message.find(device.name), std::string::npos);
}

TEST(Description, UnknownHostNamesTheNearest) {
  const auto message = error_of([] { sample().host("nod-1"); });
  EXPECT_EQ(message, "lab.xml: no host named 'nod-1'; did you mean 'node-1'?");
  EXPECT_EQ(sample().host("node-1").cores, 4);
}

TEST(HostIndex, FindsTheHostsOfTheDescription) {
  Description description = sample();
  description.hosts.push_back(description.hosts.front());
  description.hosts.back().name = "node-2";
  const HostIndex index(description);
  for (const Host& host : description.hosts) EXPECT_EQ(&index.host(host.name), &host);
  EXPECT_EQ(index.find("node-2"), &description.hosts.back());
  EXPECT_EQ(index.find("nod-1"), nullptr);
  EXPECT_EQ(error_of([&] { index.host("nod-1"); }), error_of([&] { description.host("nod-1"); }));
}

TEST(DescriptionJson, IsLossless) {
  const auto json = to_json(sample());
  const auto back = description_from_json(nlohmann::json::parse(json.dump()));
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.hosts[0].speed, sample().hosts[0].speed);
  EXPECT_EQ(back.hosts[0].device.launch, sample().hosts[0].device.launch);
  EXPECT_EQ(back.hosts[0].device.other_speeds, find_device("v100").other_speeds);
  EXPECT_EQ(back.hosts[0].device.memory, find_device("v100").memory);
  EXPECT_EQ(back.hosts[0].properties, sample().hosts[0].properties);
  EXPECT_EQ(back.links[0].sharing, "SPLITDUPLEX");
}

TEST(DescriptionJson, NamesAMissingKeyAndAWrongType) {
  auto json = to_json(sample());
  json["hosts"][0].erase("cores");
  EXPECT_NE(error_of([&] { description_from_json(json); }).find("cores"), std::string::npos);
  json = to_json(sample());
  json["links"][0]["bytes_per_second"] = "fast";
  EXPECT_NE(error_of([&] { description_from_json(json); }).find("number"), std::string::npos);
  json = to_json(sample());
  json["hosts"][0]["device"]["other_speeds"]["fp8"] = 1e15;
  EXPECT_NE(error_of([&] { description_from_json(json); }).find("expected a precision, found 'fp8'"),
            std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
