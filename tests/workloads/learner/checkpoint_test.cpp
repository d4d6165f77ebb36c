// Checkpoints: exact round trips, other bucket sizes, other models, broken files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/script_modules.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace TANDEM_FILE {

LearnerSetting setting(const std::string& model, const DatasetInfo& info, std::int64_t bucket_bytes) {
  return {.model = model, .dataset = info, .bucket_bytes = Bytes(bucket_bytes)};
}

class CheckpointFile : public ::testing::Test {
 protected:
  void save(Learner& learner) const {
    const auto& description = learner.description();
    save_checkpoint(path_, {.model = description.name, .step = 123, .values = copy_of(learner.model())},
                    description);
  }
  std::string error_of_loading(const ModelDescription& model) const {
    try {
      load_checkpoint(path_, model);
      return "no error";
    } catch (const ConfigError& error) {
      return error.what();
    }
  }
  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("model.pt");
};

TEST_F(CheckpointFile, RoundTripIsExact) {
  const auto info = describe_dataset({"synthetic-colour", "", 1, 1, 0});
  const auto learner = make_learner(setting("resnet18", info, 1 << 20));
  save(*learner);
  save(*learner);  // overwrites an older one
  const auto loaded = load_checkpoint(path_, learner->description());
  EXPECT_EQ(loaded.model, "resnet18");
  EXPECT_EQ(loaded.step, 123);
  EXPECT_EQ(loaded.values, copy_of(learner->model()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1)
      << "no temporary file is left";
}

TEST_F(CheckpointFile, OtherBucketSizesCanReadIt) {
  const auto info = describe_dataset({"synthetic", "", 1, 1, 0});
  const auto cut = make_learner(setting("lenet", info, 1));
  const auto whole = make_learner(setting("lenet", info, 0));
  ASSERT_NE(copy_of(cut->model()), copy_of(whole->model()));
  save(*cut);
  EXPECT_EQ(load_checkpoint(path_, whole->description()).values, copy_of(whole->model()));
}

TEST_F(CheckpointFile, MayBeAScriptWithTensorsOfTheSameNames) {
  const auto info = describe_dataset({"synthetic", "", 1, 1, 0});
  const auto lenet = make_learner(setting("lenet", info, 0));
  testing::save_lenet(path_);
  const Checkpoint loaded = load_checkpoint(path_, lenet->description());
  EXPECT_EQ(loaded.model, "lenet");
  std::ranges::copy(loaded.values, lenet->model().begin());
  const torch::jit::Module module = torch::jit::load(path_);
  std::size_t tensors = 0;
  for (const auto& parameter : module.named_parameters())
    for (const auto& own : lenet->description().tensors)
      if (own.name == parameter.name) {
        ++tensors;
        EXPECT_TRUE(torch::equal(window(lenet->model(), own), parameter.value)) << own.name;
      }
  EXPECT_EQ(tensors, 8U);
  const auto other = make_learner(setting("mlp", info, 0));
  EXPECT_THAT(error_of_loading(other->description()),
              ::testing::AllOf(::testing::HasSubstr("TorchScript file"), ::testing::HasSubstr("'mlp'")));
}

TEST_F(CheckpointFile, AnotherModelNamesBoth) {
  const auto info = describe_dataset({"synthetic", "", 1, 1, 0});
  save(*make_learner(setting("lenet", info, 0)));
  const auto message = error_of_loading(describe_model(setting("resnet18", info, 0)));
  EXPECT_NE(message.find("checkpoint of model 'lenet' (431080 values), expected 'resnet18' (111"),
            std::string::npos)
      << message;
  auto fewer_classes = info;
  fewer_classes.classes = 9;
  EXPECT_NE(
      error_of_loading(describe_model(setting("lenet", fewer_classes, 0))).find("expected 'lenet' (430579"),
      std::string::npos);
}

TEST_F(CheckpointFile, MissingTruncatedOrForeign) {
  const auto info = describe_dataset({"synthetic", "", 1, 1, 0});
  const auto learner = make_learner(setting("lenet", info, 0));
  EXPECT_NE(error_of_loading(learner->description()).find("cannot be opened"), std::string::npos);
  save(*learner);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  EXPECT_NE(error_of_loading(learner->description()).find("corrupt"), std::string::npos);
  std::ofstream(path_) << "not a model";
  EXPECT_NE(error_of_loading(learner->description()).find("corrupt"), std::string::npos);
  std::ofstream(path_, std::ios::trunc).close();
  EXPECT_NE(error_of_loading(learner->description()).find("corrupt"), std::string::npos);
  const auto foreign = torch::jit::pickle_save(c10::IValue(3));
  std::ofstream(path_, std::ios::binary).write(foreign.data(), static_cast<std::streamsize>(foreign.size()));
  EXPECT_NE(error_of_loading(learner->description()).find("expected entry 'model'"), std::string::npos);
}

TEST_F(CheckpointFile, CannotBeWritten) {
  const auto info = describe_dataset({"synthetic", "", 1, 1, 0});
  const auto learner = make_learner(setting("lenet", info, 0));
  path_ = (folder_.path() / "missing" / "model.pt").string();
  EXPECT_THROW(save(*learner), WorldError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
