// Updates of many stretches at once, on every device: bit by bit what one operation after the other gives,
// and nothing outside the stretches changes.
#include "tests/runtime/gpu/tested_device.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

class UpdateTest : public DeviceTest {};

using Vectors = std::vector<std::vector<float>>;
using Stretches = std::vector<UpdateStretch>;

/// Stretches in any order, with gaps between some of them, some without trained elements or statistics, and
/// their vectors.
struct Layout {
  Stretches stretches;
  std::size_t elements = 0;
};

Layout random_layout(std::size_t count, std::size_t longest, Rng& random) {
  Layout layout;
  const auto length = [&]() -> std::int64_t {
    return random.below(4) == 0 ? 0 : static_cast<std::int64_t>(random.below(longest));
  };
  for (std::size_t stretch = 0; stretch < count; ++stretch) {
    const UpdateStretch next{static_cast<std::int64_t>(layout.elements), length(),
                             random.below(2) == 0 ? 0 : length()};
    const std::size_t gap = random.below(3) == 0 ? random.below(9) : 0;
    layout.elements += static_cast<std::size_t>(next.trained + next.statistics) + gap;
    layout.stretches.push_back(next);
  }
  random.shuffle(layout.stretches);
  layout.elements += 1;
  return layout;
}

using Pointers = std::array<float*, 4>;

/// An update by one call, and the same one operation after the other.
struct Update {
  std::string name;
  std::function<void(ComputeDevice&, const Pointers&, const Stretches&)> at_once;
  std::function<void(ComputeDevice&, const Pointers&, const UpdateStretch&)> one;
};

Pointers from(const Pointers& pointers, std::int64_t element) {
  Pointers moved = pointers;
  for (float*& pointer : moved) pointer += element;
  return moved;
}

void average(ComputeDevice& device, const Pointers& p, const UpdateStretch& stretch, float factor) {
  const Pointers at = from(p, stretch.begin + stretch.trained);
  device.copy(at[0], at[1], static_cast<std::size_t>(stretch.statistics) * sizeof(float));
  device.scale(at[0], stretch.statistics, factor);
}

/// The share is rounded before the step.
void take_share(ComputeDevice& device, const Pointers& p, const UpdateStretch& stretch, float share) {
  device.scale(p[1] + stretch.begin, stretch.trained, share);
}

Update sgd_update(const std::string& name, bool has_momentum, bool nesterov) {
  const SgdStep whole{0.5F, 0.1F, has_momentum ? 0.9F : 0.0F, 0.01F, nesterov, 0.3F, 0.7F};
  SgdStep step = whole;
  step.share = 1.0F;
  return {name,
          [=](auto& d, auto& p, auto& stretches) {
            d.sgd_over(p[0], p[1], has_momentum ? p[2] : nullptr, stretches, whole);
          },
          [=](auto& d, auto& p, auto& stretch) {
            take_share(d, p, stretch, whole.share);
            const Pointers at = from(p, stretch.begin);
            d.sgd(at[0], at[1], has_momentum ? at[2] : nullptr, stretch.trained, step);
            average(d, p, stretch, whole.average);
          }};
}

Update adam_update() {
  AdamStep whole{0.5F, 0.999F, 0.01F, 0.9F, 0.999F, 1.0F - 0.9F, 1.0F - 0.999F, 0.01F, 1.5F, 1e-8F};
  AdamStep step = whole;
  whole.share = 0.3F;
  whole.average = 0.7F;
  return {"adam",
          [=](auto& d, auto& p, auto& stretches) { d.adam_over(p[0], p[1], p[2], p[3], stretches, whole); },
          [=](auto& d, auto& p, auto& stretch) {
            take_share(d, p, stretch, whole.share);
            const Pointers at = from(p, stretch.begin);
            d.adam(at[0], at[1], at[2], at[3], stretch.trained, step);
            average(d, p, stretch, whole.average);
          }};
}

/// Arrays: model, sum, velocity, base, which may be the model.
Update move_update(const std::string& name, bool has_momentum, bool has_base) {
  const MoveStep step{0.25F, 0.8F, 0.9F, 0.9F, has_base, 0.6F};
  const MoveStep of_statistics{0.6F, 1.0F, 0.0F, 0.0F, false};
  return {name,
          [=](auto& d, auto& p, auto& stretches) {
            d.move_over(p[0], p[has_base ? 3 : 0], p[1], has_momentum ? p[2] : nullptr, stretches, step);
          },
          [=](auto& d, auto& p, auto& stretch) {
            const Pointers at = from(p, stretch.begin);
            const Pointers end = from(at, stretch.trained);
            d.move(at[0], at[has_base ? 3 : 0], at[1], has_momentum ? at[2] : nullptr, stretch.trained, step);
            d.move(end[0], end[has_base ? 3 : 0], end[1], nullptr, stretch.statistics, of_statistics);
          }};
}

std::vector<Update> updates() {
  return {sgd_update("sgd", false, false),
          sgd_update("momentum", true, false),
          sgd_update("nesterov", true, true),
          adam_update(),
          move_update("move in place", false, false),
          move_update("move with momentum", true, true)};
}

template <class Run>
Vectors after(ComputeDevice& device, const Vectors& before, const std::array<std::size_t, 4>& starts,
              const Run& run) {
  std::vector<Guarded<float>> arrays;
  Pointers pointers{};
  for (std::size_t array = 0; array < before.size(); ++array) {
    arrays.emplace_back(device, before[array], starts[array]);
    pointers[array] = arrays[array].data();
  }
  run(pointers);
  Vectors now;
  for (auto& array : arrays) now.push_back(array.read());
  return now;
}

void compare(ComputeDevice& device, const Layout& layout, const std::array<std::size_t, 4>& starts,
             Rng& random) {
  Vectors before;
  for (int array = 0; array < 4; ++array) before.push_back(mixed_values(layout.elements, random));
  for (float& value : before[3]) value = 0.01F + std::abs(value);
  for (const Update& update : updates()) {
    SCOPED_TRACE(update.name);
    const Vectors found = after(device, before, starts, [&](const Pointers& pointers) {
      update.at_once(device, pointers, layout.stretches);
    });
    Vectors wanted = after(host_device(), before, {}, [&](const Pointers& pointers) {
      for (const auto& stretch : layout.stretches) update.one(host_device(), pointers, stretch);
    });
    // Only the reference rounds the mean in place.
    wanted[1] = before[1];
    for (std::size_t array = 0; array < before.size(); ++array) expect_same(found[array], wanted[array]);
  }
}

TEST_P(UpdateTest, EqualsOneOperationAfterTheOther) {
  for (const auto seed : testing::seeds(8)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const std::size_t start = random.below(5);
    compare(device(), random_layout(1 + random.below(12), 1 + random.below(3000), random),
            {start, start, start, start}, random);
    compare(device(), random_layout(1 + random.below(12), 1 + random.below(300), random),
            {random.below(5), random.below(5), random.below(5), random.below(5)}, random);
    if (HasFatalFailure()) return;
  }
}

// More than one kernel has arguments for.
TEST_P(UpdateTest, TakesAnyNumberOfStretches) {
  Rng random(3);
  compare(device(), {{}, 1}, {}, random);
  compare(device(), random_layout(350, 20, random), {1, 1, 1, 1}, random);
}

TEST_P(UpdateTest, AddsTermsInTheirOrder) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const std::size_t vectors = seed % 5 == 0 ? 70 : random.below(9);
    const std::size_t count = random.below(vectors > 9 ? 500 : 9000), start = random.below(5);
    const bool begins = random.below(2) == 0;
    std::vector<float> wanted = mixed_values(count, random);
    Guarded<float> sum(device(), wanted, start);
    if (begins) std::ranges::fill(wanted, 0.0F);
    const std::size_t stride = count + (random.below(2) == 0 ? (4 - count % 4) % 4 : 1);
    const auto values = mixed_values(vectors * stride, random);
    const Guarded<float> given(device(), values, start);
    std::vector<Term> terms;
    for (std::size_t vector = 0; vector < vectors; ++vector) {
      terms.push_back({given.data() + vector * stride, random.below(3) == 0 ? 1.0F : 0.3F});
      host_device().add(wanted.data(), values.data() + vector * stride, static_cast<std::int64_t>(count),
                        terms.back().factor);
    }
    device().add_terms(sum.data(), begins, terms, static_cast<std::int64_t>(count));
    expect_same(sum.read(), wanted);
    if (HasFatalFailure()) return;
  }
}

// Gradients of tensors, of which some are aligned like their windows.
TEST_P(UpdateTest, CopiesManyVectorsAtOnce) {
  for (const auto seed : testing::seeds(6)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const std::size_t vectors = seed % 3 == 0 ? 300 : random.below(12);
    std::vector<float> wanted(100, 5.0F);
    const auto values = any_floats(90000, random);
    Guarded<float> from(device(), values, random.below(4));
    std::vector<FloatCopy> copies;
    std::vector<std::size_t> begins;
    std::size_t read = 0;
    for (std::size_t vector = 0; vector < vectors; ++vector) {
      const std::size_t size = random.below(vectors > 100 ? 80 : 6000);
      read += random.below(4);
      begins.push_back(wanted.size());
      copies.push_back({.to = nullptr, .from = from.data() + read, .count = static_cast<std::int64_t>(size)});
      wanted.insert(wanted.end(), values.begin() + static_cast<std::ptrdiff_t>(read),
                    values.begin() + static_cast<std::ptrdiff_t>(read + size));
      wanted.resize(wanted.size() + random.below(4), 5.0F);
      read += size;
    }
    Guarded<float> to(device(), std::vector<float>(wanted.size(), 5.0F));
    for (std::size_t vector = 0; vector < vectors; ++vector) copies[vector].to = to.data() + begins[vector];
    device().copy_all(copies);
    const auto now = to.read();
    ASSERT_EQ(std::memcmp(now.data(), wanted.data(), wanted.size() * sizeof(float)), 0);
  }
}

/// Of weights and gradients of convolutions: matrices of any shape, one after the other, among other copies.
TEST_P(UpdateTest, CopiesTransposeMatrices) {
  struct Shape {
    std::int64_t matrices, rows, columns;
  };
  const std::vector<Shape> shapes = {{1, 1, 1},     {4, 3, 49},    {4, 49, 3},   {2, 700, 9},
                                     {2, 9, 700},   {7, 64, 9},    {1, 1, 3000}, {1, 2000, 1},
                                     {2, 40, 1500}, {1, 1500, 40}, {3, 5, 5},    {1, 33, 1030}};
  Rng random(3);
  std::size_t elements = 0;
  for (const auto& [matrices, rows, columns] : shapes)
    elements += static_cast<std::size_t>(matrices * rows * columns) + 1;
  const auto values = any_floats(elements, random);
  Guarded<float> from(device(), values);
  Guarded<float> to(device(), std::vector<float>(elements, 5.0F));
  std::vector<float> wanted(elements, 5.0F);
  std::vector<FloatCopy> copies;
  std::int64_t begin = 0;
  for (const auto& [matrices, rows, columns] : shapes) {
    const std::int64_t count = matrices * rows * columns;
    copies.push_back({to.data() + begin, from.data() + begin, count, rows, columns});
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t matrix = at / (rows * columns), row = at / columns % rows, column = at % columns;
      wanted[static_cast<std::size_t>(begin + matrix * rows * columns + column * rows + row)] =
          values[static_cast<std::size_t>(begin + at)];
    }
    begin += count + 1;
  }
  device().copy_all(copies);
  const auto now = to.read();
  ASSERT_EQ(std::memcmp(now.data(), wanted.data(), wanted.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, UpdateTest, ::testing::ValuesIn(tested_devices()), name_of_device);

}  // namespace TANDEM_FILE
}  // namespace tandem
