// sync.preset stands for several keys, which can still be set one by one.
#include <gtest/gtest.h>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/yaml.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;

class Presets : public ExperimentFile {
 protected:
  /// But for the preset itself and the variants.
  static std::string plain(Experiment experiment) {
    experiment.sync.preset = SyncPreset::none;
    experiment.variants.clear();
    experiment.name = "lab";
    return to_json(experiment).dump(1);
  }
};

const std::string by_hand =
    "workload: {bucket_bytes: 25MiB, first_bucket_bytes: 1MiB}\n"
    "sync: {algorithm: bsp, over: all-reduce, collective: native, overlap: backward}\n";

TEST_F(Presets, DdpIsWhatAUserWouldWrite) {
  const Experiment preset = load(minimal + "sync: {preset: ddp}\n");
  EXPECT_EQ(plain(preset), plain(load(minimal + by_hand)));
  EXPECT_EQ(preset.sync.preset, SyncPreset::ddp);
  EXPECT_EQ(plain(load(minimal, {{"sync.preset", "ddp"}})), plain(preset));
  EXPECT_EQ(plain(load(minimal + "sync: {preset: none}\n")), plain(load(minimal)));
}

TEST_F(Presets, AGivenKeyWins) {
  const Experiment ring =
      load(minimal + "sync: {collective: ring, preset: ddp}\nworkload: {bucket_bytes: 4MiB}\n");
  EXPECT_EQ(ring.sync.collective, "ring");
  EXPECT_EQ(ring.workload.bucket_bytes, Bytes(4 << 20));
  EXPECT_EQ(ring.workload.first_bucket_bytes, Bytes(1 << 20));
  const Experiment set = load(minimal + "sync: {preset: ddp}\n", {{"sync.overlap", "none"}});
  EXPECT_EQ(set.sync.overlap, OverlapMode::none);
  EXPECT_EQ(set.sync.collective, "native");
  // Those of the command line, over the file.
  EXPECT_EQ(load(minimal + "sync: {collective: ring}\n", {{"sync.preset", "ddp"}}).sync.collective, "native");
  EXPECT_EQ(load(minimal, {{"sync.preset", "ddp"}, {"sync.collective", "tree"}}).sync.collective, "tree");
}

/// A size of buckets that a user gives is not lost where the model is given by its size.
TEST_F(Presets, BucketsOfASyntheticModelHaveTheirSizes) {
  const std::string synthetic = minimal + "workload.model: synthetic\n";
  const auto buckets = [&](const Overrides& settings) {
    const Experiment loaded = load(synthetic, settings);
    EXPECT_EQ(to_json(load(to_yaml(loaded))), to_json(loaded));
    return loaded.workload.synthetic_buckets;
  };
  EXPECT_EQ(buckets({}), 1) << "the default size is not asked for";
  EXPECT_EQ(buckets({{"sync.preset", "ddp"}}), 0);
  EXPECT_EQ(buckets({{"workload.bucket_bytes", "1MiB"}}), 0);
  EXPECT_EQ(buckets({{"workload.first_bucket_bytes", "1MiB"}}), 0);
  EXPECT_EQ(buckets({{"sync.preset", "ddp"}, {"workload.synthetic_buckets", "1"}}), 1);
  EXPECT_EQ(buckets({{"sync.preset", "ddp"}, {"workload.synthetic_tensors", "[4MB]"}}), 1) << "are gathered";
  const auto located =
      load_located(folder_.write("lab.yaml", synthetic + "variants: {ddp: {sync.preset: ddp}}\n"), {}, "ddp");
  EXPECT_EQ(located.experiment.workload.synthetic_buckets, 0);
}

TEST_F(Presets, AVariantMaySetIt) {
  const std::string text = minimal +
                           "sync: {algorithm: local-sgd, options: {h: 4}}\n"
                           "variants:\n"
                           "  ddp: {sync.preset: ddp}\n"
                           "  ring: {sync.preset: ddp, sync.collective: ring}\n";
  const Experiment loaded = load(text);
  EXPECT_EQ(loaded.sync.over, sync::Route::server);
  EXPECT_EQ(plain(apply_variant(loaded, "ddp")), plain(load(minimal + by_hand)));
  EXPECT_EQ(apply_variant(loaded, "ring").sync.collective, "ring");
  EXPECT_EQ(apply_variant(loaded, "ring").sync.over, sync::Route::all_reduce);
  // The keys that it implies are none that the command line overrides a variant's with.
  const Experiment over =
      load(minimal + "variants: {own: {workload.bucket_bytes: 2MiB}}\n", {{"sync.preset", "ddp"}});
  EXPECT_EQ(apply_variant(over, "own").workload.bucket_bytes, Bytes(2 << 20));
  EXPECT_EQ(apply_variant(over, "own").sync.collective, "native");
}

/// What `tandem show` prints has all keys, so the preset adds nothing to it.
TEST_F(Presets, AResolvedExperimentIsReadAgain) {
  const Experiment loaded =
      load(minimal + "sync: {preset: ddp, collective: ring}\nvariants: {v: {sync.preset: ddp}}\n");
  EXPECT_EQ(to_json(load(to_yaml(loaded))), to_json(loaded));
}

TEST_F(Presets, AnotherNameIsRefused) {
  EXPECT_EQ(error_of(minimal + "sync: {preset: horovod}\n"),
            "lab.yaml:3: key 'sync.preset': expected none | ddp, found 'horovod'");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
