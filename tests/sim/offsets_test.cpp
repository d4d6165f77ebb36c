// How transfers that start one after the other share a link: measured on a simulated cluster, and what a
// profile says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "policies/vocabulary/rng.hpp"
#include "tests/sim/simulated_calibration.hpp"
#include "workloads/cost/network_table.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// When transfers of size 1 with these starts end that share a rate of 1 equally.
std::vector<double> ends_of_equal_shares(const std::vector<double>& starts) {
  std::vector<double> left(starts.size(), 1.0), ends(starts.size(), 0.0);
  double now = 0;
  for (std::size_t ended = 0; ended < starts.size();) {
    std::vector<std::size_t> active;
    double next = 1e9;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] > now + 1e-12)
        next = std::min(next, starts[i] - now);
      else if (left[i] > 0)
        active.push_back(i);
    }
    const auto sharers = static_cast<double>(active.size());
    for (const std::size_t i : active) next = std::min(next, left[i] * sharers);
    now += next;
    for (const std::size_t i : active) {
      left[i] -= next / sharers;
      if (left[i] > 1e-9) continue;
      left[i] = 0;
      ends[i] = now;
      ++ended;
    }
  }
  return ends;
}

/// Of two repetitions. `also`: further transfers that start with the first one.
void expect_equal_shares(const Profile::OffsetEntry& entry, int also) {
  // An empty message starts a transfer or confirms it.
  constexpr double latencies_s = 2 * latency_s;
  const double duration_s = entry.alone_s - latencies_s;
  std::vector<double> starts;
  for (int i = 0; i < entry.transfers; ++i) starts.push_back(i * entry.start_s / duration_s);
  starts.insert(starts.end(), static_cast<std::size_t>(also), 0.0);
  const auto expected = ends_of_equal_shares(starts);
  ASSERT_EQ(entry.ends_s.size(), 2U);
  for (const auto& ends_s : entry.ends_s) {
    ASSERT_EQ(std::ssize(ends_s), entry.transfers);
    for (std::size_t i = 0; i < ends_s.size(); ++i)
      EXPECT_NEAR((ends_s[i] - latencies_s) / duration_s, expected[i], 0.02)
          << entry.transfers << " transfers, " << entry.start_s << " s apart, transfer " << i;
  }
}

/// Of four sharers, those without a transfer carry bytes the other way. `also(transfers)`: how many of them
/// share the link with the transfers of this platform.
Profile expect_opposite_bytes(const std::string& platform, const std::function<int(int)>& also) {
  CalibrationSetting calibration = default_calibration();
  calibration.message_bytes = {1, 1000};
  calibration.all_reduce_bytes = {4, 4 << 10};
  calibration.sharers = {1, 2, 3, 4};
  calibration.offset_repetitions = 2;
  std::unique_ptr<Job> job;
  const TemporaryFolder folder;
  Profile profile = calibrate_simulated(calibration, job, folder, {}, {}, "none", platform, 5);
  EXPECT_EQ(profile.offsets.size(), 16U) << "two directions, two and three transfers, four offsets";
  for (const auto& entry : profile.offsets) expect_equal_shares(entry, also(entry.transfers));
  return profile;
}

TEST(LongOffsets, BytesTheOtherWayLeaveAFullDuplexLinkToTransfers) {
  const Profile profile =
      expect_opposite_bytes(TemporaryPlatform::star(5, bandwidth, latency_s), [](int) { return 0; });
  EXPECT_NEAR(NetworkTable(profile).older_rate().value(), 1.0, 0.05);
}

TEST(LongOffsets, BytesTheOtherWayShareALinkOfOneChannelWithTransfers) {
  std::string platform = TemporaryPlatform::star(5, bandwidth, latency_s);
  platform = std::regex_replace(platform, std::regex("SPLITDUPLEX"), "SHARED");
  platform = std::regex_replace(platform, std::regex(" direction='UP'"), "");
  expect_opposite_bytes(platform, [](int transfers) { return 4 - transfers; });
}

/// Ends that are a constant and normal jitter further apart than starts.
TEST(Offsets, FindsHowMuchLaterATransferStartsOnALinkInUse) {
  constexpr double late_s = 0.02, jitter_s = 0.01;
  Rng random = Rng::stream(1, "offsets", 0);
  Profile profile;
  profile.share_jitter_bytes = 7;
  EXPECT_EQ(NetworkTable(profile).busy_start(), Seconds(0));
  EXPECT_EQ(NetworkTable(profile).share_jitter(), 7) << "without offsets";
  for (const double start_s : {0.0, 0.25, 0.5, 0.75}) {
    Profile::OffsetEntry entry{
        .bytes = 1000, .out = false, .transfers = 2, .alone_s = 1, .start_s = start_s, .ends_s = {}};
    for (int i = 0; i < 2000; ++i) {
      const double first = 2 - start_s + jitter_s * random.normal();
      entry.ends_s.push_back({first, 2 + (start_s > 0 ? late_s : 0.5) + jitter_s * random.normal()});
    }
    profile.offsets.push_back(entry);
  }
  EXPECT_NEAR(NetworkTable(profile).busy_start().count(), late_s, 5 * jitter_s / std::sqrt(6000.0));
  EXPECT_NEAR(NetworkTable(profile).share_jitter(), 1000 * jitter_s, 0.05 * 1000 * jitter_s);
}

TEST(Offsets, FindsThatALinkServesTheOlderTransferFirst) {
  Profile profile;
  // A queue: the first of two transfers of 1 s ends as if it were alone.
  profile.offsets = {
      {.bytes = 1000, .out = false, .transfers = 2, .alone_s = 1, .start_s = 0.5, .ends_s = {{1.0, 2.0}}}};
  EXPECT_GT(NetworkTable(profile).older_rate().value(), 100.0);
  // Two thirds for the older one.
  profile.offsets.front().ends_s = {{0.5 + 0.5 * 1.5, 2.0}};
  EXPECT_NEAR(NetworkTable(profile).older_rate().value(), 2.0, 1e-9);
  profile.offsets.clear();
  EXPECT_FALSE(NetworkTable(profile).older_rate());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
