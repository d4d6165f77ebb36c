// Arithmetic over flat vectors on every device: close to double precision, and bit by bit equal to the host's
// loops; for any count and any starting element, and without writing outside the vectors.
#include "tests/runtime/gpu/tested_device.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr int most_arrays = 4;
using Pointers = std::array<float*, most_arrays>;
using Doubles = std::array<double, most_arrays>;

/// One element's values in double precision, and the size of the largest terms of each result: the device's
/// error is a few roundings of these.
struct Element {
  Doubles value;
  Doubles terms{};
};

struct Operation {
  std::string name;
  int arrays;
  std::vector<int> written;
  std::function<void(ComputeDevice&, const Pointers&, std::int64_t)> run;
  std::function<void(Element&)> refer;
};

/// Sets a result that is the sum of the terms a and b.
void set(Element& element, std::size_t array, double a, double b, double carried = 0.0) {
  element.value[array] = a + b;
  element.terms[array] = std::abs(a) + std::abs(b) + carried;
}

std::vector<Operation> simple_operations() {
  return {
      {"fill",
       1,
       {0},
       [](auto& d, auto& p, auto n) { d.fill(p[0], n, 1.25F); },
       [](Element& e) { set(e, 0, 1.25, 0.0); }},
      {"scale",
       1,
       {0},
       [](auto& d, auto& p, auto n) { d.scale(p[0], n, -0.3F); },
       [](Element& e) { set(e, 0, double{-0.3F} * e.value[0], 0.0); }},
      {"add",
       2,
       {0},
       [](auto& d, auto& p, auto n) { d.add(p[0], p[1], n, 0.7F); },
       [](Element& e) { set(e, 0, e.value[0], double{0.7F} * e.value[1]); }},
      {"multiply",
       2,
       {0},
       [](auto& d, auto& p, auto n) { d.multiply(p[0], p[1], n, 0.7F); },
       [](Element& e) { set(e, 0, double{0.7F} * e.value[1], 0.0); }},
      {"multiply in place",
       1,
       {0},
       [](auto& d, auto& p, auto n) { d.multiply(p[0], p[0], n, 0.7F); },
       [](Element& e) { set(e, 0, double{0.7F} * e.value[0], 0.0); }},
      {"subtract",
       3,
       {0},
       [](auto& d, auto& p, auto n) { d.subtract(p[0], p[1], p[2], n); },
       [](Element& e) { set(e, 0, e.value[1], -e.value[2]); }},
      {"subtract in place",
       2,
       {0},
       [](auto& d, auto& p, auto n) { d.subtract(p[0], p[0], p[1], n); },
       [](Element& e) { set(e, 0, e.value[0], -e.value[1]); }},
      {"approach",
       2,
       {0},
       [](auto& d, auto& p, auto n) { d.approach(p[0], p[1], n, 0.125F); },
       [](Element& e) { set(e, 0, e.value[0], 0.125 * (e.value[1] - e.value[0]), std::abs(e.value[1])); }}};
}

Operation sgd_operation(const std::string& name, bool has_momentum, bool nesterov) {
  const SgdStep step{0.5F, 0.1F, has_momentum ? 0.9F : 0.0F, 0.01F, nesterov};
  const auto run = [=](ComputeDevice& d, const Pointers& p, std::int64_t n) {
    d.sgd(p[0], p[1], has_momentum ? p[2] : nullptr, n, step);
  };
  const auto refer = [=](Element& e) {
    const double model = e.value[0];
    const double g = step.scale * e.value[1] + double{step.weight_decay} * model;
    const double g_terms = std::abs(step.scale * e.value[1]) + std::abs(double{step.weight_decay} * model);
    if (has_momentum) set(e, 2, double{step.momentum} * e.value[2], g, g_terms);
    const double v = has_momentum ? e.value[2] : g;
    const double change = nesterov ? g + double{step.momentum} * v : v;
    set(e, 0, model, -double{step.learning_rate} * change, g_terms + std::abs(v) + e.terms[2]);
  };
  return {name, has_momentum ? 3 : 2, has_momentum ? std::vector{0, 2} : std::vector{0}, run, refer};
}

/// The test makes array 3 positive.
Operation adam_operation() {
  const AdamStep step{0.5F, 0.999F, 0.01F, 0.9F, 0.999F, 1.0F - 0.9F, 1.0F - 0.999F, 0.01F, 1.5F, 1e-8F};
  const auto run = [=](ComputeDevice& d, const Pointers& p, std::int64_t n) {
    d.adam(p[0], p[1], p[2], p[3], n, step);
  };
  const auto refer = [=](Element& e) {
    const double kept = double{step.kept} * e.value[0];
    const double g = step.scale * e.value[1] + double{step.weight_decay} * kept;
    const double g_terms = std::abs(step.scale * e.value[1]) + std::abs(double{step.weight_decay} * kept);
    set(e, 2, double{step.beta1} * e.value[2], double{step.new_mean} * g, g_terms);
    set(e, 3, double{step.beta2} * e.value[3], double{step.new_square} * g * g, g_terms * g_terms);
    const double below = double{step.root} * std::sqrt(e.value[3]) + double{step.epsilon};
    const double carried = double{step.rate} * e.terms[2] / below * (1.0 + e.terms[3] / e.value[3]);
    set(e, 0, kept, -double{step.rate} * e.value[2] / below, carried);
  };
  return {"adam", 4, {0, 2, 3}, run, refer};
}

Operation compensation_operation(bool is_adaptive) {
  const CompensationStep step{0.4F, 0.95F};
  const auto run = [=](ComputeDevice& d, const Pointers& p, std::int64_t n) {
    d.compensate(p[0], p[1], p[2], is_adaptive ? p[3] : nullptr, n, step);
  };
  const auto refer = [=](Element& e) {
    const double square = e.value[0] * e.value[0];
    double strength = double{step.lambda};
    if (is_adaptive) {
      set(e, 3, double{step.memory} * e.value[3], (1.0 - double{step.memory}) * square);
      strength /= std::sqrt(e.value[3] + double{smallest_mean_square});
    }
    const double drift = std::abs(e.value[1]) + std::abs(e.value[2]);
    set(e, 0, e.value[0], strength * square * (e.value[1] - e.value[2]), strength * square * drift);
  };
  return {is_adaptive ? "adaptive compensation" : "compensation", is_adaptive ? 4 : 3,
          is_adaptive ? std::vector{0, 3} : std::vector{0}, run, refer};
}

/// Arrays: model, sum, velocity, base. Without a base, the model itself is the base.
Operation move_operation(const std::string& name, bool has_momentum, bool nesterov, bool has_base) {
  const MoveStep step{0.25F, 0.8F, 0.9F, 0.9F, nesterov};
  const auto run = [=](ComputeDevice& d, const Pointers& p, std::int64_t n) {
    d.move(p[0], has_base ? p[3] : p[0], p[1], has_momentum ? p[2] : nullptr, n, step);
  };
  const auto refer = [=](Element& e) {
    const double base = has_base ? e.value[3] : e.value[0];
    const double change = double{step.share} * e.value[1];
    if (!has_momentum) return set(e, 0, base, double{step.rate} * change);
    set(e, 2, double{step.kept} * e.value[2], change);
    const double moved = nesterov ? change + double{step.momentum} * e.value[2] : e.value[2];
    set(e, 0, base, double{step.rate} * moved, e.terms[2] + std::abs(change));
  };
  return {name, 4, has_momentum ? std::vector{0, 2} : std::vector{0}, run, refer};
}

std::vector<Operation> operations() {
  std::vector<Operation> all = simple_operations();
  for (auto&& more :
       {sgd_operation("sgd", false, false), sgd_operation("momentum", true, false),
        sgd_operation("nesterov", true, true), adam_operation(), compensation_operation(false),
        compensation_operation(true), move_operation("move", false, false, true),
        move_operation("move in place", false, false, false), move_operation("outer", true, false, true),
        move_operation("outer nesterov", true, true, false)})
    all.push_back(more);
  return all;
}

using Vectors = std::vector<std::vector<float>>;
using Starts = std::array<std::size_t, most_arrays>;

Vectors run_on(ComputeDevice& device, const Operation& operation, const Vectors& before,
               const Starts& starts) {
  std::vector<Guarded<float>> arrays;
  Pointers pointers{};
  for (std::size_t array = 0; array < before.size(); ++array) {
    arrays.emplace_back(device, before[array], starts[array]);
    pointers[array] = arrays[array].data();
  }
  operation.run(device, pointers, static_cast<std::int64_t>(before[0].size()));
  Vectors after;
  for (auto& array : arrays) after.push_back(array.read());
  return after;
}

/// Sixteen roundings of the largest terms: more than any operation has.
constexpr double relative_error = 16.0 * 0x1.0p-24;

void expect_near_reference(const Operation& operation, const Vectors& before, const Vectors& after) {
  for (std::size_t at = 0; at < before[0].size(); ++at) {
    Element element{};
    for (std::size_t array = 0; array < before.size(); ++array) element.value[array] = before[array][at];
    operation.refer(element);
    for (const int written : operation.written) {
      const auto array = static_cast<std::size_t>(written);
      ASSERT_NEAR(after[array][at], element.value[array], relative_error * element.terms[array] + 1e-37)
          << operation.name << ", array " << array << ", element " << at;
    }
  }
}

Vectors random_vectors(const Operation& operation, std::size_t count, Rng& random) {
  Vectors before;
  for (int array = 0; array < operation.arrays; ++array) before.push_back(mixed_values(count, random));
  // Means of squares are not negative.
  if (operation.arrays == 4)
    for (float& value : before[3]) value = 0.01F + std::abs(value);
  return before;
}

void test_operation(ComputeDevice& device, const Operation& operation, std::size_t count,
                    const Starts& starts, Rng& random) {
  SCOPED_TRACE(operation.name + " of " + std::to_string(count));
  const Vectors before = random_vectors(operation, count, random);
  const Vectors after = run_on(device, operation, before, starts);
  const Vectors twin = run_on(host_device(), operation, before, {});
  for (std::size_t array = 0; array < before.size(); ++array) expect_same(after[array], twin[array]);
  expect_near_reference(operation, before, after);
}

TEST_P(DeviceTest, OperationsEqualTheHostsBitByBit) {
  for (const auto seed : testing::seeds(2)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    for (const Operation& operation : operations())
      for (const std::size_t count : {0U, 1U, 2U, 3U, 4U, 7U, 32U, 1021U, 4096U, 20001U}) {
        const std::size_t start = random.below(5);
        test_operation(device(), operation, count, {start, start, start, start}, random);
        test_operation(device(), operation, count,
                       {random.below(5), random.below(5), random.below(5), random.below(5)}, random);
        if (HasFatalFailure()) return;
      }
  }
}

// More tiles than a small device has blocks, so that each block takes several.
TEST_P(DeviceTest, EachBlockTakesSeveralTiles) {
  Rng random(1);
  const auto all = operations();
  for (const std::size_t operation : {2U, 11U})
    for (const Starts& starts : {Starts{1, 1, 1, 1}, Starts{1, 2, 3, 0}})
      test_operation(device(), all.at(operation), 300007, starts, random);
}

TEST_P(DeviceTest, ArbitraryFloatsGiveTheHostsResults) {
  for (const auto seed : testing::seeds(4)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    for (const Operation& operation : operations()) {
      SCOPED_TRACE(operation.name);
      Vectors before;
      for (int array = 0; array < operation.arrays; ++array) before.push_back(any_floats(777, random));
      const Vectors after = run_on(device(), operation, before, {3, 3, 3, 3});
      const Vectors twin = run_on(host_device(), operation, before, {});
      for (std::size_t array = 0; array < before.size(); ++array) expect_same(after[array], twin[array]);
    }
  }
}

TEST_P(DeviceTest, FindsTheFirstNonFinite) {
  auto* const first = reinterpret_cast<std::int64_t*>(device().allocate_pinned(sizeof(std::int64_t)));
  const auto found = [&](const float* values, std::int64_t count) {
    *first = -1;
    device().find_non_finite(values, count, first);
    device().finish();
    return *first;
  };
  EXPECT_EQ(found(nullptr, 0), 0);
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const auto count = static_cast<std::size_t>(1 + random.below(30000));
    auto values = mixed_values(count, random);
    values[0] = std::numeric_limits<float>::max();
    values[count - 1] = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(
        found(Guarded<float>(device(), values, random.below(4)).data(), static_cast<std::int64_t>(count)),
        static_cast<std::int64_t>(count));
    auto least = static_cast<std::int64_t>(count);
    for (const float non_finite :
         {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const auto at = random.below(count);
      values[at] = non_finite;
      least = std::min(least, static_cast<std::int64_t>(at));
    }
    EXPECT_EQ(
        found(Guarded<float>(device(), values, random.below(4)).data(), static_cast<std::int64_t>(count)),
        least);
  }
  device().release_pinned(reinterpret_cast<std::byte*>(first));
}

// ---- 16-bit floats ----

using Halves = std::vector<std::uint16_t>;

TEST_P(DeviceTest, NarrowsLikeTheHost) {
  for (const auto seed : testing::seeds(12)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    auto values = any_floats(5000 + random.below(4), random);
    // Near the largest and the smallest numbers, and at ties.
    for (std::size_t at = 0; at < 2000; ++at)
      values[at] = std::ldexp(static_cast<float>(random.below(1U << 13U)) + (at % 2 == 0 ? 0.0F : 0.5F),
                              static_cast<int>(random.below(48)) - 40);
    for (const HalfFormat format : {HalfFormat::fp16, HalfFormat::bf16}) {
      Halves wanted(values.size());
      host_device().narrow(values.data(), wanted.data(), static_cast<std::int64_t>(values.size()), format);
      Guarded<float> given(device(), values, random.below(4));
      Guarded<std::uint16_t> found(device(), Halves(values.size()), random.below(8));
      device().narrow(given.data(), found.data(), static_cast<std::int64_t>(values.size()), format);
      EXPECT_EQ(found.read(), wanted);
    }
  }
}

Halves all_halves() {
  Halves all(1U << 16U);
  for (std::size_t at = 0; at < all.size(); ++at) all[at] = static_cast<std::uint16_t>(at);
  return all;
}

TEST_P(DeviceTest, WidensEvery16BitNumber) {
  const Halves all = all_halves();
  for (const HalfFormat format : {HalfFormat::fp16, HalfFormat::bf16})
    for (const std::size_t start : {0U, 1U, 4U}) {
      std::vector<float> wanted(all.size());
      host_device().widen(all.data(), wanted.data(), static_cast<std::int64_t>(all.size()), format);
      Guarded<std::uint16_t> given(device(), all, start);
      Guarded<float> found(device(), std::vector<float>(all.size()), start % 4);
      device().widen(given.data(), found.data(), static_cast<std::int64_t>(all.size()), format);
      const auto read = found.read();
      EXPECT_EQ(std::memcmp(read.data(), wanted.data(), wanted.size() * sizeof(float)), 0);
    }
}

bool is_no_number(std::uint16_t half, HalfFormat format) {
  return (half & 0x7fffU) > (format == HalfFormat::fp16 ? 0x7c00U : 0x7f80U);
}

TEST_P(DeviceTest, AddsHalvesLikeTheHost) {
  for (const auto seed : testing::seeds(6)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    Halves left = all_halves();
    left.resize(left.size() - random.below(20));
    Halves right = left;
    random.shuffle(right);
    for (const HalfFormat format : {HalfFormat::fp16, HalfFormat::bf16}) {
      Halves wanted = left;
      host_device().add_halves(wanted.data(), right.data(), static_cast<std::int64_t>(left.size()), format);
      const std::size_t start = random.below(9);
      Guarded<std::uint16_t> sum(device(), left, start);
      Guarded<std::uint16_t> more(device(), right, seed % 2 == 0 ? start : random.below(9));
      device().add_halves(sum.data(), more.data(), static_cast<std::int64_t>(left.size()), format);
      const Halves found = sum.read();
      for (std::size_t at = 0; at < found.size(); ++at)
        if (!is_no_number(found[at], format) || !is_no_number(wanted[at], format)) {
          ASSERT_EQ(found[at], wanted[at]) << left[at] << " + " << right[at];
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, DeviceTest, ::testing::ValuesIn(tested_devices()), name_of_device);

}  // namespace TANDEM_FILE
}  // namespace tandem
