// `tandem cache` as a user sees it: the ratios of a small trace, the files that it writes, and its errors.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Cache : public ::testing::Test {
 protected:
  Cache() { line_.write("trace.csv", "1,10\n2,10\n3,10\n1,10\n2,10\n4,30\n1,10\n2,10\n"); }
  CommandLine line_;
};

TEST_F(Cache, PrintsTheRatiosOfEveryPolicyAndSize) {
  const auto result = line_.tandem("cache trace.csv csv lru,belady 20,0.5 --csv out.csv --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto document = nlohmann::json::parse(result.output);
  EXPECT_EQ(document.at("requests"), 8);
  EXPECT_EQ(document.at("objects"), 4);
  EXPECT_EQ(document.at("working_set_bytes"), 60);
  const auto& results = document.at("results");
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].at("policy"), "lru");
  EXPECT_EQ(results[0].at("capacity_bytes"), 20);
  EXPECT_DOUBLE_EQ(results[0].at("miss_ratio"), 0.75)
      << "4 is too large for it, so the last two requests hit";
  EXPECT_DOUBLE_EQ(results[0].at("byte_miss_ratio"), 0.8);
  EXPECT_EQ(results[1].at("capacity_bytes"), 30);
  EXPECT_DOUBLE_EQ(results[2].at("miss_ratio"), 0.5) << "3 is bypassed";
  EXPECT_EQ(line_.shell("wc -l < out.csv").output, "5\n");
  EXPECT_EQ(line_.shell("ls out.csv*").output, "out.csv\n") << "nothing unfinished is left";
}

TEST_F(Cache, ReadsSizesAsExperimentsDo) {
  const auto result =
      line_.tandem("cache trace.csv csv lru 1kB,1KiB,0.5GB,50GB,50GiB,1.5 --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::vector<std::int64_t> sizes;
  const auto document = nlohmann::json::parse(result.output);
  for (const auto& one : document.at("results")) sizes.push_back(one.at("capacity_bytes"));
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1000, 1024, 500'000'000, 50'000'000'000, 50LL << 30, 90}));
}

/// Of 8 requests, the sixth is the first that finds no room for its object in 50 bytes.
TEST_F(Cache, SaysForHowLongCachesWereFilling) {
  const auto filling = [&](const std::string& words) {
    const auto result = line_.tandem("cache trace.csv csv " + words + " --json 2> /dev/null");
    std::vector<int> found;
    const auto document = nlohmann::json::parse(result.output);
    for (const auto& one : document.at("results")) found.push_back(one.at("filling_requests"));
    return found;
  };
  EXPECT_EQ(filling("lru,belady,minio 50,60"), (std::vector<int>{6, 8, 6, 8, 6, 8}));
  EXPECT_EQ(filling("lru 50,60 --warm-up 4"), (std::vector<int>{2, 4}));
  EXPECT_EQ(filling("lru 20 --warm-up 4"), (std::vector<int>{0}));
  const std::string note = "misses because it is not yet full";
  EXPECT_NE(line_.tandem("cache trace.csv csv lru 60").output.find(note), std::string::npos);
  EXPECT_EQ(line_.tandem("cache trace.csv csv lru 20 --warm-up 4").output.find(note), std::string::npos);
}

TEST_F(Cache, TakesOptionsOfPolicies) {
  const auto two = line_.tandem("cache trace.csv csv slru 40 -e slru.segments=2 --json 2> /dev/null").output;
  EXPECT_EQ(nlohmann::json::parse(two).at("results")[0].at("options").at("segments"), "2");
}

TEST_F(Cache, AdmitsAndCountsAsTold) {
  const auto misses = [&](const std::string& words) {
    const auto result = line_.tandem("cache trace.csv csv lru 60 --json " + words + " 2> /dev/null");
    EXPECT_EQ(result.exit_code, 0) << words;
    const auto own = nlohmann::json::parse(result.output).at("results")[0];
    return own.at("requests").get<int>() - own.at("hits").get<int>();
  };
  EXPECT_EQ(misses(""), 4);
  EXPECT_EQ(misses("--admission size=20"), 4) << "4 has 30 bytes and is requested once";
  EXPECT_EQ(misses("--admission seen"), 6) << "1 and 2 miss twice";
  EXPECT_EQ(misses("--admission prob=0"), 8);
  EXPECT_EQ(misses("--admission prob=1"), 4);
  EXPECT_EQ(misses("--warm-up 3"), 1) << "of the last five requests only that for 4";
  EXPECT_EQ(misses("--warm-up 0.5"), 1);
}

TEST_F(Cache, WritesAReportWithTheBound) {
  const auto result = line_.tandem("cache trace.csv csv lru 20,40 --report curves");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto report = nlohmann::json::parse(line_.shell("cat curves/report.json").output);
  ASSERT_EQ(report.at("results").size(), 4U);
  EXPECT_EQ(report.at("results")[2].at("policy"), "belady");
  EXPECT_EQ(report.at("bound_name"), "Belady: not a bound, because objects have different sizes");
  EXPECT_NE(line_.shell("grep -c miss-ratio curves/report.html").output, "0\n");
  EXPECT_EQ(line_.shell("ls curves").output, "report.html\nreport.json\nreport.md\n");
}

TEST_F(Cache, EstimatesFromSamplesWithinItsError) {
  // 2,000 objects, those of low number more often.
  std::string trace;
  std::uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t first = state >> 16U;
    state = state * 1664525U + 1013904223U;
    trace += std::to_string(first % 2000 * (state >> 16U) / 65536) + "\n";
  }
  line_.write("long.txt", trace);
  const auto ratios = [&](const std::string& words) {
    const auto result =
        line_.tandem("cache long.txt txt lru,sieve,fifo 0.05,0.2 --json " + words + " 2> /dev/null");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output).at("results");
  };
  const auto all = ratios(""), estimated = ratios("--sample 0.25");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double error = estimated[i].at("miss_ratio_error");
    EXPECT_LT(error, 0.1);
    // The four samples are all objects, so the mean error is that of the scaled capacity only.
    EXPECT_NEAR(estimated[i].at("miss_ratio"), all[i].at("miss_ratio"), std::max(0.01, 1.5 * error));
    EXPECT_FALSE(all[i].contains("miss_ratio_error"));
  }
}

TEST_F(Cache, ListsTheOptionsOfPolicies) {
  const auto result = line_.tandem("cache trace.csv csv slru,lru 1 --print-options");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("slru.segments=4"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("lru: no options"), std::string::npos);
}

TEST_F(Cache, ReplaysTrainingJobs) {
  const auto result = line_.tandem(
      "cache 1000:10 shuffled minio,coordl,lru 0.2,500 --epochs 3 --batch 10 --training-jobs 2 --json 2> "
      "/dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto document = nlohmann::json::parse(result.output);
  EXPECT_EQ(document.at("data_set_bytes"), 10'000);
  EXPECT_NEAR(document.at("mixing"), 1.0, 0.05);
  const auto& results = document.at("results");
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results[0].at("capacity_bytes"), 2000);
  EXPECT_EQ(results[0].at("warm").at("requests"), 4000);
  EXPECT_EQ(results[0].at("warm").at("local"), 800);
  EXPECT_DOUBLE_EQ(results[0].at("hit_bound"), 0.6);
  EXPECT_EQ(results[1].at("warm").at("local"), 200);
  EXPECT_EQ(results[2].at("policy"), "minio") << "coordl is its name in the release of iCache";
  EXPECT_EQ(results[0].at("epochs").size(), 6U);
  EXPECT_EQ(results[0].at("epochs")[5].at("job"), 1);
}

/// MinIO keeps 200 of 1,000 samples: of each epoch after the first, 800 samples wait for the store.
TEST_F(Cache, WritesAReportAndATableOfTrainingJobs) {
  const auto result =
      line_.tandem("cache 1000:10 shuffled minio 0.2 --epochs 3 --batch 10 --report curves --csv epochs.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("curves in curves/report.html"), std::string::npos) << result.output;
  EXPECT_EQ(line_.shell("ls curves").output, "report.html\nreport.json\nreport.md\n");
  const auto report = nlohmann::json::parse(line_.shell("cat curves/report.json").output);
  EXPECT_DOUBLE_EQ(report.at("results")[0].at("miss_ratio"), 0.8);
  EXPECT_NE(line_.shell("grep -c miss-ratio curves/report.html").output, "0\n");
  EXPECT_EQ(
      line_.shell("cat epochs.csv").output,
      "policy,capacity_bytes,job,epoch,requests,local,substituted,peer,storage,read_ahead,omitted,repeated\n"
      "minio,2000,0,0,1000,0,0,0,1000,0,0,0\n"
      "minio,2000,0,1,1000,200,0,0,800,0,0,0\n"
      "minio,2000,0,2,1000,200,0,0,800,0,0,0\n");
}

TEST_F(Cache, RefusesOptionsOfTracesWithTrainingJobs) {
  for (const char* option : {"--sample 0.5", "--warm-up 10", "--admission seen", "--ignore-size"}) {
    const auto result = line_.tandem(std::string("cache 1000 shuffled lru 10 --epochs 2 ") + option);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_NE(result.output.find("--epochs"), std::string::npos) << result.output;
  }
}

TEST_F(Cache, TrainsBySelectedSamplesOnTheCachesOfTheRelease) {
  const auto result = line_.tandem(
      "cache 5000 importance isa,isa_lru 0.2 --epochs 4 -e importance.warm_up=1 -e icache.split=0.8 --json "
      "2> "
      "/dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto document = nlohmann::json::parse(result.output);
  const auto& results = document.at("results");
  EXPECT_EQ(results[0].at("policy"), "icache");
  EXPECT_EQ(results[0].at("options").at("split"), "0.8");
  EXPECT_GT(results[0].at("warm").at("substituted"), 0);
  EXPECT_TRUE(results[0].at("hit_bound").is_null());
  EXPECT_EQ(results[1].at("policy"), "lru");
  EXPECT_EQ(results[1].at("warm").at("substituted"), 0);
}

TEST_F(Cache, ReplaysTheRequestsOfASimulatedCacheNode) {
  // The node and the replay are one order over two tables of ids, so they have the same hits.
  ASSERT_EQ(line_
                .tandem("simulate '" + testing::source_folder() + "/workloads/experiments/cached.yaml'" +
                        " --variant lru --requests --set workload.train_samples=2048 --set "
                        "data.cache_capacity=3MB --out job -q")
                .exit_code,
            0);
  const auto result = line_.tandem(
      "cache job/requests.csv csv lru 3000000 -t id-col=3,size-col=4,has-header=true --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto summary = nlohmann::json::parse(line_.shell("cat job/summary.json").output);
  const auto own = nlohmann::json::parse(result.output).at("results")[0];
  EXPECT_GT(own.at("hits"), 0);
  EXPECT_NEAR(1 - own.at("miss_ratio").get<double>(), summary.at("cache").at("hit_ratio").get<double>(),
              1e-9);
}

TEST_F(Cache, ASizeBelowTheSmallestObjectMissesAlways) {
  const auto told = line_.tandem("cache trace.csv csv all 9,1000 --json 2> told.txt");
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const std::string note = line_.shell("cat told.txt").output;
  EXPECT_NE(note.find("a capacity of 9 bytes holds no object, because the smallest has 10"),
            std::string::npos)
      << note;
  const auto document = nlohmann::json::parse(told.output);
  for (const auto& one : document.at("results"))
    EXPECT_EQ(one.at("miss_ratio") == 1, one.at("capacity_bytes") == 9) << one;
  const auto trained = line_.tandem("cache 100:785 shuffled lru,minio 784,7850 --epochs 2");
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_NE(trained.output.find("a capacity of 784 bytes holds no object"), std::string::npos)
      << trained.output;
  // A size in which a policy cannot work is left out; the others are answered.
  const auto packages =
      line_.tandem("cache 1000:10 importance icache,minio 100,5000 --epochs 2 --json 2> told.txt");
  ASSERT_EQ(packages.exit_code, 0) << line_.shell("cat told.txt").output;
  EXPECT_EQ(nlohmann::json::parse(packages.output).at("results").size(), 3U);
  const std::string left_out = line_.shell("cat told.txt").output;
  EXPECT_NE(left_out.find("left out: 100 bytes: icache: option 'package'"), std::string::npos) << left_out;
  EXPECT_EQ(line_.tandem("cache 1000:10 importance icache 100 --epochs 2").exit_code, 2);
}

TEST_F(Cache, BadInputIsRefused) {
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = line_.tandem("cache " + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  };
  refuses("trace.csv csv lur 10", {"'lur'", "did you mean 'lru'"});
  refuses("trace.csv csv lru 0", {"at least one byte", "'0'"});
  refuses("trace.csv csv lru 10x", {"100kB", "'10x'"});
  refuses("trace.csv csv lru ''", {"auto", "''"});
  refuses("trace.csv csv lru 10 -t id-cool=1", {"id-col=NUMBER", "'id-cool=1'"});
  refuses("trace.csv csv lru 10 -t id-col=0", {"column from 1", "'0'"});
  refuses("trace.csv csv slru 10 -e segments=2", {"POLICY.OPTION=VALUE"});
  refuses("trace.csv csv slru 10 -e slru.segments=many", {"segments", "integer", "many"});
  refuses("trace.csv csv slru 10 -e slru.parts=2", {"parts"});
  refuses("nowhere.csv csv lru 10", {"nowhere.csv"});
  refuses("trace.csv csv lru 10 --admission size=0", {"size=BYTES", "'size=0'"});
  refuses("trace.csv csv lru 10 --admission prob=2", {"prob=PROBABILITY", "'prob=2'"});
  refuses("trace.csv csv lru 10 --warm-up 8", {"fewer requests than the 8", "'8'"});
  refuses("trace.csv csv lru 10 --sample 0.0001", {"--sample", "two samples"});
  refuses("many shuffled lru 10 --epochs 2", {"number of samples", "50000:110000", "'many'"});
  refuses("100 shard lru 10 --epochs 2", {"all workers share", "'shard'"});
  refuses("100 shufled lru 10 --epochs 2", {"did you mean 'shuffled'"});
  refuses("100 importance nopfs 10 --epochs 2", {"'nopfs'", "sampler without losses"});
  refuses("100 importance lru 10 --epochs 2 -e importance.reuse=1", {"reuse", "above 1"});
  refuses("100 shuffled lru 10 --epochs 2 -e slru.segments=2", {"one of the policies", "slru.segments=2"});
  EXPECT_NE(line_.tandem("cache trace.csv csv lru 100").output.find("holds the whole working set"),
            std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
