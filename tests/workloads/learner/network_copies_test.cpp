// Copies of weights with adjacent channels and of vectors in aligned memory, and gradients of them, on the
// processor.
#include "workloads/learner/network_copies.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "workloads/learner/torch_mode.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr auto adjacent = at::MemoryFormat::ChannelsLast;

/// Whole numbers, with which every order of additions gives the same sum.
at::Tensor numbers(at::IntArrayRef shape, std::int64_t times) {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return (at::arange(count, at::kLong) * times % 13 - 6).to(at::kFloat).view(shape);
}

TEST(NetworkCopies, CopiesFollowTheModel) {
  NetworkCopies copies(host_device(), /*adjacent_channels=*/true);
  const at::Tensor window = numbers({5, 4, 3, 2}, 7);
  const at::Tensor weight = copies.of(window, /*changes=*/false);
  EXPECT_NE(weight.data_ptr<float>(), window.data_ptr<float>());
  EXPECT_TRUE(weight.is_contiguous(adjacent));
  EXPECT_EQ(weight.sizes(), window.sizes());
  for (int step = 0; step < 2; ++step) {
    window.mul_(3).add_(step);
    EXPECT_FALSE(at::equal(weight, window));
    copies.refresh();
    EXPECT_TRUE(at::equal(weight, window));
  }
}

TEST(NetworkCopies, TensorsOfOneOrderStayInTheModel) {
  NetworkCopies copies(host_device(), /*adjacent_channels=*/true);
  const std::vector<std::vector<std::int64_t>> shapes = {{5, 4, 1, 1}, {5, 1, 3, 3}, {5, 4}, {5}};
  for (const auto& shape : shapes) {
    const at::Tensor window = numbers(shape, 1);
    EXPECT_EQ(copies.of(window, /*changes=*/false).data_ptr<float>(), window.data_ptr<float>())
        << window.dim();
  }
}

TEST(NetworkCopies, VectorsThatAreNotAlignedAreCopiedAndGivenBack) {
  const at::Tensor all = numbers({64}, 3);
  for (const bool adjacent_channels : {false, true})
    for (const int begin : {0, 1, 2, 4, 10}) {
      const at::Tensor window = all.narrow(0, begin, 20);
      NetworkCopies copies(host_device(), adjacent_channels);
      const at::Tensor trained = copies.of(window, /*changes=*/false);
      const at::Tensor statistic = copies.of(window, /*changes=*/true);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(statistic.data_ptr<float>()) % 16, 0U);
      EXPECT_EQ(statistic.data_ptr<float>() == window.data_ptr<float>(), begin % 4 == 0) << begin;
      copies.refresh();
      EXPECT_TRUE(at::equal(trained, window) && at::equal(statistic, window));
      const at::Tensor before = all.clone();
      statistic.add_(1.0);
      copies.give_back();
      EXPECT_TRUE(at::equal(window, before.narrow(0, begin, 20) + 1.0)) << begin;
      EXPECT_TRUE(at::equal(all.narrow(0, 0, begin), before.narrow(0, 0, begin)));
      EXPECT_TRUE(at::equal(all.narrow(0, begin + 20, 10), before.narrow(0, begin + 20, 10)));
    }
}

/// The gradients of a convolution, by the weights in the model and by their copy.
TEST(NetworkCopies, GradientsArriveInTheOrderOfTheModel) {
  NetworkCopies copies(host_device(), /*adjacent_channels=*/true);
  const at::Tensor window = numbers({6, 5, 3, 3}, 5);
  at::Tensor weight = copies.of(window, /*changes=*/false);
  copies.refresh();
  const at::Tensor pixels = numbers({2, 5, 8, 8}, 3);
  const auto gradient_of = [](at::Tensor trained, const at::Tensor& input) {
    trained = trained.detach().requires_grad_(true);
    const at::AutoGradMode with_gradients(true);
    return torch::autograd::grad({at::conv2d(input, trained).sum()}, {trained}).front();
  };
  const at::Tensor expected = gradient_of(window, pixels);
  const at::Tensor found = gradient_of(weight, pixels.contiguous(adjacent)).contiguous(adjacent);
  const at::Tensor gradient = at::zeros_like(window);
  const auto copy = copy_into_window(gradient, found);
  ASSERT_TRUE(copy);
  host_device().copy_all({&*copy, 1});
  EXPECT_TRUE(at::equal(gradient, expected));
}

TEST(NetworkCopies, OtherGradientsAreConvertedByLibtorch) {
  const at::Tensor window = at::zeros({4, 3, 2, 2});
  EXPECT_EQ(copy_into_window(window, numbers({4, 3, 2, 2}, 1))->rows, 0);
  EXPECT_FALSE(copy_into_window(window, numbers({4, 3, 2, 2}, 1).to(at::kDouble)));
  EXPECT_FALSE(copy_into_window(window, numbers({2, 3, 2, 4}, 1).permute({3, 1, 2, 0})));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
