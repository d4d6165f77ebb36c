// Conformance of the native all-reduce: sums, sizes, groups, several in flight, and concurrent work.
#include <algorithm>
#include <cstring>

#include "tests/conformance/support.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{41, false};
constexpr Channel other{42, false};

using Vector = std::vector<float>;

Slice slice_of(Vector& vector) {
  return {Bytes(static_cast<std::int64_t>(vector.size() * sizeof(float))),
          reinterpret_cast<std::byte*>(vector.data())};
}

/// Small integers: their sums are exact in any order, and show which rank is missing.
float element_of(Rank rank, int key, std::size_t at) {
  return static_cast<float>((1 << rank) *
                            (1 + static_cast<int>((at * 7 + static_cast<std::size_t>(key)) % 13)));
}

Vector vector_of(Rank rank, int key, std::size_t size) {
  Vector vector(size);
  for (std::size_t at = 0; at < size; ++at) vector[at] = element_of(rank, key, at);
  return vector;
}

void expect_sum(const Context& context, const std::string& what, const std::vector<Rank>& members, int key,
                const Vector& found) {
  for (std::size_t at = 0; at < found.size(); ++at) {
    float sum = 0;
    for (const Rank rank : members) sum += element_of(rank, key, at);
    if (found[at] != sum) expect_equal(context, what + ": element " + std::to_string(at), sum, found[at]);
  }
}

bool is_member(const Context& context, const std::vector<Rank>& members) {
  return std::find(members.begin(), members.end(), context.rank()) != members.end();
}

void all_reduces_sum_vectors_of_any_size(Context& context) {
  const std::vector<Rank> all = {0, 1, 2, 3};
  int key = 0;
  for (const std::size_t size : {1UL, 0UL, 3UL, 1000UL, 65537UL, 300000UL}) {
    Vector vector = vector_of(context.rank(), ++key, size);
    Pending sum = context.all_reduce(all, plain, slice_of(vector));
    expect(context, "a started all-reduce is pending", !sum.empty());
    context.wait(sum);
    expect_sum(context, std::to_string(size) + " elements", all, key, vector);
  }
}

/// They may complete in any order, and the ranks wait for them in different orders.
void several_all_reduces_are_in_flight(Context& context) {
  const std::vector<Rank> all = {0, 1, 2};
  constexpr std::size_t count = 5;
  std::vector<Vector> vectors;
  std::vector<Pending> sums;
  for (std::size_t i = 0; i < count; ++i)
    vectors.push_back(vector_of(context.rank(), static_cast<int>(i), 20000 * (count - i) + i));
  for (std::size_t i = 0; i < count; ++i) {
    Pending work = context.compute({.kind = Work::Kind::backward, .samples = 1});
    sums.push_back(context.all_reduce(all, {static_cast<std::int16_t>(50 + i), false}, slice_of(vectors[i])));
    context.wait(work);
  }
  if (context.rank() == 1) std::reverse(sums.begin(), sums.end());
  if (context.rank() == 2)
    for (std::size_t i = 0; i < count; ++i) context.wait_any(sums);
  else
    context.wait_all(sums);
  for (std::size_t i = 0; i < count; ++i)
    expect_sum(context, "vector " + std::to_string(i), all, static_cast<int>(i), vectors[i]);
}

/// The early rank does other work meanwhile; a message that the late rank waits for must still be delivered.
void an_all_reduce_waits_for_its_last_member(Context& context) {
  const std::vector<Rank> all = {0, 1};
  Vector vector = vector_of(context.rank(), 1, 5000);
  Buffer bytes = pattern(7, 100000);
  // The first all-reduce over a list of members may wait for all of them.
  Vector first(1, 1.0F);
  Pending known = context.all_reduce(all, plain, slice_of(first));
  context.wait(known);
  if (context.rank() == 0) {
    Pending sum = context.all_reduce(all, plain, slice_of(vector));
    send_now(context, 1, other, conformance::slice_of(bytes));
    context.wait(sum);
  } else {
    Buffer arrived(bytes.size());
    receive_now(context, 0, other, conformance::slice_of(arrived));
    expect_pattern(context, "message", 7, arrived, arrived.size());
    Pending sum = context.all_reduce(all, plain, slice_of(vector));
    context.wait(sum);
  }
  expect_sum(context, "sum", all, 1, vector);
}

/// Overlapping groups, disjoint groups concurrently, member lists in any order, and a single rank.
void all_reduces_among_groups(Context& context) {
  const std::vector<std::vector<Rank>> groups = {{0, 2}, {1, 3}, {3, 0, 1}, {2},
                                                 {1, 2}, {0, 3}, {2, 0},    {0, 2}};
  for (int round = 0; round < 3; ++round)
    for (const auto& members : groups) {
      if (!is_member(context, members)) continue;
      Vector vector = vector_of(context.rank(), round, 777);
      Pending sum = context.all_reduce(members, plain, slice_of(vector));
      context.wait(sum);
      expect_sum(context, "group of " + std::to_string(members.size()), members, round, vector);
    }
}

/// Each rank gives its part, and gets those of all in the order of the members.
void all_gathers_pass_every_part_on(Context& context) {
  for (const auto& members : std::vector<std::vector<Rank>>{{0, 1, 2}, {2, 0}, {1}}) {
    if (!is_member(context, members)) continue;
    const auto self = std::ranges::find(members, context.rank()) - members.begin();
    for (const std::size_t part : {1UL, 0UL, 7UL, 100001UL}) {
      Buffer all(part * members.size());
      const Buffer own = pattern(static_cast<std::uint32_t>(context.rank()), part);
      std::ranges::copy(own, all.begin() + self * std::ssize(own));
      Pending gather =
          context.all_reduce(members, plain, conformance::slice_of(all), collectives::byte_element);
      context.wait(gather);
      for (std::size_t member = 0; member < members.size(); ++member) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(member * part);
        expect_pattern(context, "part of rank " + std::to_string(members[member]),
                       static_cast<std::uint32_t>(members[member]),
                       Buffer(begin, begin + static_cast<std::ptrdiff_t>(part)), part);
      }
    }
  }
}

/// 16-bit elements: their numbers are exact, so that no order of the additions rounds.
void all_reduces_sum_halves(Context& context) {
  const std::vector<Rank> all = {0, 1, 2};
  for (const auto& [element, format] : {std::pair(collectives::fp16_element, HalfFormat::fp16),
                                        std::pair(collectives::bf16_element, HalfFormat::bf16)})
    for (const std::size_t size : {1UL, 3UL, 70001UL}) {
      Vector values(size);
      for (std::size_t at = 0; at < size; ++at)
        values[at] = static_cast<float>(static_cast<int>(at % 5) - 2 + context.rank());
      const auto count = static_cast<std::int64_t>(size);
      std::vector<std::uint16_t> halves(size);
      host_device().narrow(values.data(), halves.data(), count, format);
      Pending sum = context.all_reduce(
          all, plain, {Bytes(2 * count), reinterpret_cast<std::byte*>(halves.data())}, element);
      context.wait(sum);
      host_device().widen(halves.data(), values.data(), count, format);
      for (std::size_t at = 0; at < size; ++at) {
        const auto expected = static_cast<float>(3 * (static_cast<int>(at % 5) - 2) + 3);
        if (values[at] != expected) expect_equal(context, "half " + std::to_string(at), expected, values[at]);
      }
    }
}

/// Modelled mathematics: a size without memory.
void all_reduces_without_memory_complete(Context& context) {
  const std::vector<Rank> all = {0, 1, 2};
  std::vector<Pending> sums;
  for (const std::int64_t size : {4L, 400000L, 0L})
    sums.push_back(context.all_reduce(all, plain, {Bytes(size), nullptr}));
  for (const std::int64_t size : {3L, 300000L})
    sums.push_back(context.all_reduce(all, plain, {Bytes(size), nullptr}, collectives::byte_element));
  sums.push_back(context.all_reduce(all, plain, {Bytes(6), nullptr}, collectives::bf16_element));
  context.wait_all(sums);
  for (const Pending& sum : sums) expect(context, "waited for", sum.empty());
}

}  // namespace

std::vector<Scenario> all_reduce_scenarios() {
  return {{"all_reduces_sum_vectors_of_any_size", 4, all_reduces_sum_vectors_of_any_size},
          {"several_all_reduces_are_in_flight", 3, several_all_reduces_are_in_flight},
          {"an_all_reduce_waits_for_its_last_member", 2, an_all_reduce_waits_for_its_last_member},
          {"all_reduces_among_groups", 4, all_reduces_among_groups},
          {"all_gathers_pass_every_part_on", 3, all_gathers_pass_every_part_on},
          {"all_reduces_sum_halves", 3, all_reduces_sum_halves},
          {"all_reduces_without_memory_complete", 3, all_reduces_without_memory_complete}};
}

}  // namespace tandem::conformance
