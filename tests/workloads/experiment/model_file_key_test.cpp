// workload.model as the path of a TorchScript file: where the file is searched, and the error if it is
// missing.
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

const std::string minimal = "platform: lab.xml\nstop: {rounds: 5}\n";

class ModelFileKey : public ::testing::Test {
 protected:
  void SetUp() override { folder_.write("lab.xml", "<platform/>"); }

  Experiment load(const std::string& text, const Overrides& overrides = {}) {
    return load_experiment(folder_.write("lab.yaml", text), overrides);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ModelFileKey, IsRelativeToTheExperimentsFolder) {
  const std::string path = folder_.write("models/net.pt", "");
  const Experiment loaded = load(minimal + "workload: {model: models/net.pt, math: real}\n");
  EXPECT_EQ(loaded.workload.model, path);
  EXPECT_EQ(load(minimal, {{"workload.model", "models/net.pt"}}).workload.model, path);
  const Experiment variant =
      load(minimal + "workload: {model: lenet}\nvariants: {own: {workload.model: models/net.pt}}\n");
  EXPECT_EQ(variant.workload.model, "lenet");
  EXPECT_EQ(apply_variant(variant, "own").workload.model, path);
}

TEST_F(ModelFileKey, MustExist) {
  for (const char* name : {"net.pt", "FILE.pt"}) {
    try {
      load(minimal + "workload: {model: " + name + "}\n");
      FAIL() << "no error";
    } catch (const ConfigError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("lab.yaml:3: key 'workload.model': expected a TorchScript file at '" +
                             folder_.path(name) + "' or '"),
                std::string::npos)
          << message;
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
