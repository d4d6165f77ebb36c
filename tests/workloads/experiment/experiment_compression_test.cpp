// Keys of the compression: defaults, valid combinations, and the exact messages.
#include <gtest/gtest.h>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::minimal;
using testing::Refusal;

class CompressionKeys : public testing::ExperimentFile {};
class RefusedCompressionKeys : public testing::RefusedFile {};

TEST_F(CompressionKeys, HaveTheOptionsOfTheirMethod) {
  EXPECT_EQ(load(minimal).sync.compression, "none");
  EXPECT_TRUE(load(minimal).sync.compression_options.empty());
  const std::string text = minimal + "sync: {compression: top-k, compression_options: {ratio: 1}}\n";
  const auto& options = load(text).sync.compression_options;
  EXPECT_EQ(options.at("ratio"), OptionValue(1.0));
  EXPECT_EQ(options.at("error_feedback"), OptionValue(true));
  EXPECT_EQ(load(text, {{"sync.compression", "qsgd"}}).sync.compression_options.at("levels"),
            OptionValue(std::int64_t{4}));
  EXPECT_EQ(load(text, {{"sync.compression_options.ratio", "0.5"}}).sync.compression_options.at("ratio"),
            OptionValue(0.5));
}

TEST_F(CompressionKeys, WorkWithServersAndAllReduces) {
  for (const char* route : {"server", "all-reduce"})
    for (const char* method : {"fp16", "top-k", "power-sgd"})
      EXPECT_NO_THROW(load(minimal + "sync: {over: " + route + ", compression: " + method + "}\n"));
  EXPECT_NO_THROW(load(minimal + "sync: {over: all-reduce, collective: tree, compression: random-k}\n"));
  // Over a server the collective is not used.
  EXPECT_NO_THROW(load(minimal + "sync: {collective: tree, compression: top-k}\n"));
}

TEST_P(RefusedCompressionKeys, SayWhereAndWhy) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    All, RefusedCompressionKeys,
    ::testing::Values(
        Refusal{"NoElement", minimal + "sync: {compression: top-k, compression_options: {ratio: 0}}\n",
                "lab.yaml:3: key 'sync.compression_options' of top-k: option 'ratio': expected number >= "
                "1e-06 and <= 1, found '0'"},
        Refusal{"MoreThanAll", minimal + "sync: {compression: random-k, compression_options: {ratio: 1.5}}\n",
                "lab.yaml:3: key 'sync.compression_options' of random-k: option 'ratio': expected number >= "
                "1e-06 and <= 1, found '1.5'"},
        Refusal{"NoLevel", minimal + "sync: {compression: qsgd, compression_options: {levels: 0}}\n",
                "lab.yaml:3: key 'sync.compression_options' of qsgd: option 'levels': expected integer >= 1 "
                "and <= 32767, found '0'"},
        Refusal{"OptionOfAnother", minimal + "sync: {compression: sign, compression_options: {rank: 2}}\n",
                "lab.yaml:3: key 'sync.compression_options' of sign: unknown option 'rank'"},
        Refusal{"UnknownName", minimal + "sync: {compression: topk}\n",
                "lab.yaml:3: key 'sync.compression': expected a compression (none | fp16 | bf16 | top-k | "
                "dgc | random-k | sign | one-bit | qsgd | terngrad | two-bit | power-sgd | lossless), found "
                "'topk'; did you "
                "mean 'top-k'?"},
        Refusal{"OverPeers",
                "platform: lab.xml\nstop: {rounds: 5}\n"
                "sync: {algorithm: d-psgd, over: peers, compression: fp16}\n",
                "lab.yaml:3: key 'sync.compression': expected none, because workers of d-psgd exchange whole "
                "models, not gradients or changes, found 'fp16'"},
        Refusal{"OfModelsInGroups",
                minimal + "sync: {algorithm: group-average, over: all-reduce, compression: fp16}\n",
                "lab.yaml:3: key 'sync.compression': expected none, because workers of group-average "
                "exchange whole models, not gradients or changes, found 'fp16'"}),
    [](const auto& test) { return test.param.name; });

}  // namespace TANDEM_FILE
}  // namespace tandem
