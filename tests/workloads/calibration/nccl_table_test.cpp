// Tables of nccl-tests: what is read of them, and what is refused.
#include "workloads/calibration/nccl_table.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

const std::string ranks =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  101 on  m1 device  0 [0x07] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid  102 on  m1 device  1 [0x0a] NVIDIA H200\n"
    "#  Rank  2 Group  0 Pid  103 on  m2 device  0 [0x07] NVIDIA H200\n"
    "#  Rank  3 Group  0 Pid  104 on  m2 device  1 [0x0a] NVIDIA H200\n#\n";
const std::string columns =
    "#                                                       out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";
const std::string rows =
    "m1:101:101 [0] NCCL INFO Using network Socket\n"
    "    67108864      16777216     float     sum      -1    812.3   82.62  123.92      0    810.0   82.85  "
    "124.28      0\n"
    "        1024           256     float     sum      -1    25.10    0.04    0.06      0    24.00    0.04   "
    " "
    "0.06    N/A\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 62.1\n";

class NcclTable : public ::testing::Test {
 protected:
  std::vector<Profile::AllReduceEntry> read(const std::string& text, std::optional<int> given = {}) const {
    return read_nccl_table(folder_.write("table.txt", text), given);
  }
  void refuses(const std::string& text, const std::string& part, std::optional<int> given = {}) const {
    try {
      read(text, given);
      FAIL() << "accepted: " << part;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("table.txt"), std::string::npos) << error.what();
    }
  }
  testing::TemporaryFolder folder_;
};

TEST_F(NcclTable, GivesTimesInPlaceBySize) {
  const auto entries = read(ranks + columns + rows);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].bytes, 1024);
  EXPECT_EQ(entries[0].ranks, 4);
  EXPECT_DOUBLE_EQ(entries[0].median_s, 24e-6);
  EXPECT_DOUBLE_EQ(entries[1].median_s, 810e-6);
  EXPECT_DOUBLE_EQ(entries[1].behind_s, 810e-6);
  EXPECT_EQ(entries[1].raw_s.size(), 1U);
}

TEST_F(NcclTable, WithOneHalfAndWithoutRanks) {
  const std::string half =
      "# size count type redop root time algbw busbw error\n1024 256 float sum -1 30.5 0.03 0.05 0\n";
  EXPECT_DOUBLE_EQ(read(half, 4).front().median_s, 30.5e-6);
  EXPECT_EQ(read(half, 4).front().ranks, 4);
  refuses(half, ":2: expected lines '# Rank ...'");
  refuses(ranks + half, "expected 8 ranks", 8);
  refuses(half, "at least 2 ranks, found 1", 1);
}

TEST_F(NcclTable, RefusesWhatIsNoTableOfAllReduces) {
  refuses("", "expected a line '# size");
  refuses(ranks + columns, "expected rows");
  refuses(ranks + "# size count type redop root time\n", "expected the columns");
  refuses(ranks + columns + "1024 256 float\n", "expected 13 columns, found 3");
  refuses(ranks + columns + "1024 256 float sum -1 1 0 0 0 fast 0 0 0\n", "column time, found 'fast'");
  refuses(ranks + columns + "1024 256 float sum -1 1 0 0 0 0 0 0 0\n", "time above 0");
  refuses(ranks + columns + "1.5 256 float sum -1 1 0 0 0 1 0 0 0\n", "size in bytes");
  refuses(ranks + columns + rows + rows, "found 67108864 twice");
  // An all-gather has half of the factor.
  refuses(ranks + columns + "1024 256 float sum -1 1 10 7.5 0 1 10 7.5 0\n", "found 0.750");
  EXPECT_THROW(read_nccl_table((folder_.path() / "none").string()), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
