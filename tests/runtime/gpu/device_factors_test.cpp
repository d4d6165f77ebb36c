// PowerSGD on every device that calculates its factors: the same bits as in policies/compression, exchange
// after exchange, for narrow and wide matrices, vectors between them, and matrices without a direction left.
#include "tests/policies/compression/stretches.hpp"
#include "tests/runtime/gpu/tested_device.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

using compression::Shapes;
using compression::SharedFactors;

compression::Setting setting_of(std::int64_t rank, const Shapes& shapes) {
  return {.stretch = compression::stretch_with(shapes),
          .options = compression::options_of("power-sgd", {{"rank", rank}})};
}

Shapes random_shapes(Rng& random) {
  Shapes shapes;
  const auto parts = 2 + random.below(4);
  for (std::uint64_t part = 0; part < parts; ++part) {
    const bool is_vector = random.below(3) == 0;
    shapes.push_back({static_cast<std::int64_t>(is_vector ? 1 : 1 + random.below(200)),
                      static_cast<std::int64_t>(1 + random.below(200))});
  }
  return shapes;
}

class DeviceFactorsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device().make_factors(setting_of(1, {{2, 2}})) == nullptr) GTEST_SKIP() << "the processor calculates";
  }

  /// All steps of an exchange of two workers with the same values.
  void exchange(SharedFactors& own, SharedFactors& twin, const std::vector<float>& values) {
    std::vector<float> left(static_cast<std::size_t>(twin.left_elements()));
    std::vector<float> right(static_cast<std::size_t>(twin.right_elements()));
    std::vector<float> expanded(values.size(), -3.0F);
    const Guarded<float> given(device(), values, 1);
    Guarded<float> own_left(device(), left, 2);
    Guarded<float> own_right(device(), right, 3);
    Guarded<float> own_expanded(device(), expanded);
    twin.project(values, left);
    own.project(given.span(), own_left.span());
    expect_same(own_left.read(), left);
    twin.orthonormalise(left);
    own.orthonormalise(own_left.span());
    expect_same(own_left.read(), left);
    twin.reproject(values, left, right);
    own.reproject(given.span(), own_left.span(), own_right.span());
    expect_same(own_right.read(), right);
    twin.expand(left, right, expanded);
    own.expand(own_left.span(), own_right.span(), own_expanded.span());
    expect_same(own_expanded.read(), expanded);
    std::fill(expanded.begin(), expanded.end(), 5.0F);
    Guarded<float> own_plain(device(), expanded, 1);
    twin.copy_plain(values, expanded);
    own.copy_plain(given.span(), own_plain.span());
    expect_same(own_plain.read(), expanded);
    twin.keep(right);
    own.keep(own_right.span());
    expect_same(learnt(own), {twin.learnt().begin(), twin.learnt().end()});
  }
  std::vector<float> learnt(SharedFactors& factors) {
    std::vector<float> values(factors.learnt().size());
    copy_and_await(device(), values.data(), factors.learnt().data(), values.size() * sizeof(float));
    return values;
  }
};

TEST_P(DeviceFactorsTest, EqualThoseOfThePolicies) {
  for (const auto seed : testing::seeds(2)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const Shapes shapes = random_shapes(random);
    for (const std::int64_t rank : {1, 2, 9}) {
      const auto setting = setting_of(rank, shapes);
      const auto elements = static_cast<std::size_t>(setting.stretch.elements);
      const auto own = device().make_factors(setting);
      const auto twin = compression::catalog().find("power-sgd").make.make_factors(setting);
      ASSERT_EQ(own->left_elements(), twin->left_elements());
      ASSERT_EQ(own->right_elements(), twin->right_elements());
      for (int turn = 0; turn < 2; ++turn) exchange(*own, *twin, mixed_values(elements, random));
      exchange(*own, *twin, std::vector<float>(elements, 0.0F));
      exchange(*own, *twin, std::vector<float>(elements, 0.25F));  // of rank 1
      exchange(*own, *twin, mixed_values(elements, random));
    }
  }
}

// More rows than a block has threads, more tiles than a small device has blocks.
TEST_P(DeviceFactorsTest, OfTallAndOfWideMatrices) {
  Rng random(1);
  const auto setting = setting_of(2, {{1111, 37}, {1, 7}, {5, 2050}});
  const auto own = device().make_factors(setting);
  const auto twin = compression::catalog().find("power-sgd").make.make_factors(setting);
  for (int turn = 0; turn < 2; ++turn)
    exchange(*own, *twin, mixed_values(static_cast<std::size_t>(setting.stretch.elements), random));
}

TEST_P(DeviceFactorsTest, ContinueFromWhatWasLearnt) {
  Rng random(2);
  const auto setting = setting_of(2, {{20, 30}, {9, 9}});
  const auto elements = static_cast<std::size_t>(setting.stretch.elements);
  const auto own = device().make_factors(setting);
  const auto twin = compression::catalog().find("power-sgd").make.make_factors(setting);
  exchange(*own, *twin, mixed_values(elements, random));
  const auto resumed = device().make_factors(setting);
  const auto before = learnt(*own);
  copy_and_await(device(), resumed->learnt().data(), before.data(), before.size() * sizeof(float));
  exchange(*resumed, *twin, mixed_values(elements, random));
}

TEST_P(DeviceFactorsTest, OfAStretchWithoutMatricesAndOfAnEmptyOne) {
  Rng random(3);
  for (const Shapes& shapes : {Shapes{{1, 5}, {1, 9}}, Shapes{}}) {
    const auto setting = setting_of(2, shapes);
    const auto own = device().make_factors(setting);
    const auto twin = compression::catalog().find("power-sgd").make.make_factors(setting);
    exchange(*own, *twin, mixed_values(static_cast<std::size_t>(setting.stretch.elements), random));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceFactorsTest, ::testing::ValuesIn(tested_devices()), name_of_device);

}  // namespace TANDEM_FILE
}  // namespace tandem
