// workload.synthetic_tensors: lists and files of tensors, what they set besides, and errors.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/yaml.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;
using Texts = std::vector<std::string>;

class SyntheticTensors : public ExperimentFile {
 protected:
  static std::string with(const std::string& tensors, const std::string& more = "") {
    return minimal + "workload:\n  model: synthetic\n  synthetic_tensors: " + tensors + "\n" + more;
  }
};

TEST_F(SyntheticTensors, AreSizesInAList) {
  const auto workload = load(with("[4MB, 16kB, 40, 4 MB, '400B fc']")).workload;
  EXPECT_EQ(workload.synthetic_tensors, (Texts{"4MB", "16kB", "40B", "4MB", "400B fc"}));
  EXPECT_EQ(workload.synthetic_parameters, (8'016'440) / 4);
  EXPECT_EQ(workload.synthetic_forward, Experiment::Workload().synthetic_forward);
}

TEST_F(SyntheticTensors, MayBeOne) {
  EXPECT_EQ(load(with("4MB")).workload.synthetic_tensors, Texts{"4MB"});
  EXPECT_EQ(load(with("4 MB fc")).workload.synthetic_tensors, Texts{"4MB fc"});
}

TEST_F(SyntheticTensors, MayBeAFileBesideTheExperiment) {
  folder_.write(
      "net.tensors",
      "# an example\n\n 4MB\tconv 1.5Gflop 3e9  # the largest\r\n1000B fc6 100 200\n16kB - 0 0\n8B b\n");
  for (const char* text : {"net.tensors", "[net.tensors]"}) {
    const Experiment experiment = load(with(text));
    const auto& workload = experiment.workload;
    EXPECT_EQ(workload.synthetic_tensors,
              (Texts{"4MB conv 1.5Gflop 3Gflop", "1kB fc6 100flop 200flop", "16kB - 0flop 0flop", "8B b"}));
    EXPECT_EQ(workload.synthetic_parameters, 1'000'000 + 250 + 4000 + 2);
    EXPECT_EQ(workload.synthetic_forward.count(), 1.5e9 + 100);
    EXPECT_EQ(workload.synthetic_backward.count(), 3e9 + 200);
  }
  // What is resolved does not need the file, and states all sums.
  const Experiment experiment = load(with("net.tensors"));
  std::filesystem::remove(folder_.path("net.tensors"));
  EXPECT_EQ(to_json(load(to_yaml(experiment))), to_json(experiment));
  EXPECT_EQ(to_json(experiment_from_json(to_json(experiment))), to_json(experiment));
}

TEST_F(SyntheticTensors, AreReadAgainAsTheyAreWritten) {
  for (const char* text : {"4B", "4MiB a", "1.5kB - 1flop 0.1flop", "1001000B x.weight 0.3Gflop 1e17flop"}) {
    const ListedTensor tensor = parse_tensor(text, "test");
    const ListedTensor again = parse_tensor(to_text(tensor), "test");
    EXPECT_EQ(again.size, tensor.size) << text;
    EXPECT_EQ(again.name, tensor.name) << text;
    ASSERT_EQ(again.work.has_value(), tensor.work.has_value()) << text;
    if (!tensor.work) continue;
    EXPECT_EQ(again.work->forward, tensor.work->forward) << text;
    EXPECT_EQ(again.work->backward, tensor.work->backward) << text;
  }
}

TEST_F(SyntheticTensors, AgreeWithWhatIsStatedBesides) {
  EXPECT_EQ(load(with("[4kB, 4kB]", "  synthetic_parameters: 2000\n")).workload.synthetic_parameters, 2000);
  EXPECT_EQ(error_of(with("[4kB, 4kB]", "  synthetic_parameters: 2001\n")),
            "lab.yaml:6: key 'workload.synthetic_parameters': expected 2000, as many as the 2 tensors of "
            "workload.synthetic_tensors have together (8kB), or nothing, found '2001'");
  const std::string stated = with("['4kB a 10Mflop 20Mflop', '4kB b']", "  synthetic_backward: 21Mflop\n");
  EXPECT_EQ(error_of(stated),
            "lab.yaml:6: key 'workload.synthetic_backward': expected 20Mflop, the sum of the work that "
            "workload.synthetic_tensors state, or nothing, found '21Mflop'");
  EXPECT_EQ(load(stated, {{"workload.synthetic_backward", "20Mflop"}}).workload.synthetic_forward.count(),
            1e7);
  EXPECT_EQ(load(with("[4kB]", "  synthetic_forward: 7flop\n")).workload.synthetic_forward.count(), 7);
}

TEST_F(SyntheticTensors, OfAVariantOrOverrideReplaceTheOthers) {
  folder_.write("two.tensors", "4kB\n8kB\n");
  const Experiment experiment =
      load(with("[4MB]") + "variants: {small: {workload.synthetic_tensors: two.tensors}}\n");
  EXPECT_EQ(apply_variant(experiment, "small").workload.synthetic_parameters, 3000);
  EXPECT_EQ(apply_variant(experiment, "small").workload.synthetic_tensors, (Texts{"4kB", "8kB"}));
  const auto set = load(with("[4MB]"), {{"workload.synthetic_tensors", "two.tensors"}}).workload;
  EXPECT_EQ(set.synthetic_parameters, 3000);
  EXPECT_EQ(load(with("[4MB]"), {{"workload.synthetic_tensors", "[4kB]"}}).workload.synthetic_parameters,
            1000);
  EXPECT_TRUE(load(with("[4MB]"), {{"workload.synthetic_tensors", ""}}).workload.synthetic_tensors.empty());
}

TEST_F(SyntheticTensors, RefuseWhatIsNoTensor) {
  const std::string key = "lab.yaml:5: key 'workload.synthetic_tensors': ";
  const std::string size =
      "expected the size of a tensor in fp32, a multiple of 4 bytes above 0 (like 4MB), found ";
  EXPECT_EQ(error_of(with("[4MB, 42B]")), key + "tensor 2: " + size + "'42B'");
  EXPECT_EQ(error_of(with("[0]")), key + "tensor 1: " + size + "'0'");
  EXPECT_EQ(error_of(with("[-4MB]")), key + "tensor 1: " + size + "'-4MB'");
  EXPECT_EQ(error_of(with("[4kB, fc6]")), key + "tensor 2: " + size + "'fc6'");
  EXPECT_EQ(
      error_of(with("['4kB fc6 3Gflop']")),
      key +
          "tensor 1: expected a tensor as SIZE [NAME [FORWARD BACKWARD]] (like 4MB fc6 20Mflop 40Mflop), "
          "found '4kB fc6 3Gflop'");
  EXPECT_EQ(
      error_of(with("['4kB fc6 3Gflop -1']")),
      key + "tensor 1: expected the work of the backward pass per sample >= 0 (like 20Mflop), found '-1'");
  EXPECT_EQ(error_of(with("{a: 4kB}")),
            key + "expected list of tensors (like [4MB, 16kB]), or path, found a map");
  EXPECT_EQ(error_of(with("[8000000000GB, 8000000000GB]")),
            key + "expected tensors of less than 2^63 bytes in all, found more");
}

TEST_F(SyntheticTensors, RefuseBadFilesWithTheirLine) {
  EXPECT_EQ(error_of(with("absent.tensors")).substr(0, 120),
            std::string(
                "lab.yaml:5: key 'workload.synthetic_tensors': expected tensors (sizes like 4MB), or a file "
                "with one per line at 'absent.tensors' or '")
                .substr(0, 120));
  folder_.write("bad.tensors", "4MB\n# fine\n4kB fc 1Gflop many\n");
  EXPECT_EQ(
      error_of(with("bad.tensors")),
      "bad.tensors:3: expected the work of the backward pass per sample >= 0 (like 20Mflop), found 'many'");
  folder_.write("bad.tensors", "4MB\nfc6 4MB\n");
  EXPECT_EQ(
      error_of(with("bad.tensors")),
      "bad.tensors:2: expected the size of a tensor in fp32, a multiple of 4 bytes above 0 (like 4MB), found "
      "'fc6'");
  folder_.write("bad.tensors", "4MB \xff\n");
  EXPECT_EQ(error_of(with("bad.tensors")).substr(0, 28), "bad.tensors:1: expected a te");
  folder_.write("bad.tensors", "# nothing\n");
  EXPECT_EQ(error_of(with("bad.tensors")), "bad.tensors: expected at least one tensor, found none");
  std::filesystem::create_directory(folder_.path("folder.tensors"));
  EXPECT_EQ(error_of(with("folder.tensors")), "folder.tensors: cannot be read: Is a directory");
}

TEST_F(SyntheticTensors, RefuseOtherModelsAndNumbersOfBuckets) {
  EXPECT_EQ(error_of(minimal + "workload: {model: lenet, synthetic_tensors: [4MB, 4MB]}\n"),
            "lab.yaml:3: key 'workload.synthetic_tensors': expected nothing, because workload.model is "
            "'lenet', not "
            "'synthetic', found '4MB, 4MB'");
  EXPECT_EQ(error_of(with("[4MB]", "  synthetic_buckets: 2\n")),
            "lab.yaml:6: key 'workload.synthetic_buckets': expected no value with "
            "workload.synthetic_tensors, which "
            "workload.bucket_bytes gathers into buckets, found '2'");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
