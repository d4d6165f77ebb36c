// The optimisers compared with PyTorch's, step by step on the same gradients.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Kind = OptimizerSetting::Kind;

std::unique_ptr<torch::optim::Optimizer> pytorch(const OptimizerSetting& setting, const at::Tensor& model) {
  const std::vector<at::Tensor> parameters = {model};
  const auto betas = std::make_tuple(setting.beta1, setting.beta2);
  if (setting.kind == Kind::sgd)
    return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(setting.learning_rate)
                                                               .momentum(setting.momentum)
                                                               .nesterov(setting.nesterov)
                                                               .weight_decay(setting.weight_decay));
  if (setting.kind == Kind::adam)
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(setting.learning_rate)
                                                                .betas(betas)
                                                                .eps(setting.epsilon)
                                                                .weight_decay(setting.weight_decay));
  return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(setting.learning_rate)
                                                               .betas(betas)
                                                               .eps(setting.epsilon)
                                                               .weight_decay(setting.weight_decay));
}

struct Case {
  std::string name;
  OptimizerSetting setting;
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

class AgainstPyTorch : public ::testing::TestWithParam<Case> {};

TEST_P(AgainstPyTorch, SameModelAfterEveryStep) {
  const auto& setting = GetParam().setting;
  for (const auto seed : testing::seeds(5)) {
    TANDEM_TRACE_SEED(seed);
    torch::manual_seed(static_cast<std::int64_t>(seed));
    const at::Tensor theirs = torch::randn({1000}).requires_grad_(true);
    std::vector<float> ours(theirs.data_ptr<float>(), theirs.data_ptr<float>() + 1000);
    const auto reference = pytorch(setting, theirs);
    Optimizer optimizer(setting, 1000);
    for (std::int64_t step = 0; step < 20; ++step) {
      at::Tensor gradient = torch::randn({1000});
      // Of very different sizes, which Adam's division equalises.
      if (setting.kind != Kind::sgd) gradient *= torch::pow(10.0, torch::randn({1000}));
      theirs.mutable_grad() = gradient;
      reference->step();
      optimizer.begin_update({step});
      optimizer.apply(ours, {gradient.data_ptr<float>(), 1000}, 1.0, 0);
      const at::Tensor mine = torch::from_blob(ours.data(), {1000});
      EXPECT_TRUE(torch::allclose(mine, theirs.detach(), 1e-5, 1e-6))
          << "step " << step << ": " << (mine - theirs.detach()).abs().max().item<float>();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, AgainstPyTorch,
    ::testing::Values(
        Case{"Sgd", {.learning_rate = 0.1}}, Case{"SgdDecay", {.learning_rate = 0.1, .weight_decay = 1e-2}},
        Case{"Momentum", {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-2}},
        Case{"Nesterov", {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}},
        Case{"NesterovDecay",
             {.learning_rate = 0.1, .momentum = 0.5, .nesterov = true, .weight_decay = 1e-2}},
        Case{"Adam", {.kind = Kind::adam, .learning_rate = 1e-2}},
        Case{"AdamDecay",
             {.kind = Kind::adam, .learning_rate = 1e-2, .weight_decay = 0.1, .beta1 = 0.5, .beta2 = 0.9}},
        Case{"AdamCoarse", {.kind = Kind::adam, .learning_rate = 1e-2, .epsilon = 0.1}},
        Case{"AdamW", {.kind = Kind::adamw, .learning_rate = 1e-2, .weight_decay = 0.1}},
        Case{"AdamWWithoutDecay", {.kind = Kind::adamw, .learning_rate = 1e-2, .beta1 = 0.0}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace TANDEM_FILE
}  // namespace tandem
