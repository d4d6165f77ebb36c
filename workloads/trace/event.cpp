#include "workloads/trace/event.hpp"

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::trace {
namespace {

/// Finds a name by its length first: most keys of a trace are of no interest, and none is hashed.
template <class Value>
class Names {
 public:
  Names(Value otherwise, std::initializer_list<std::pair<std::string_view, Value>> all)
      : otherwise_(otherwise) {
    for (const auto& [name, value] : all) by_length_[name.size()].emplace_back(name, value);
  }
  Value find(std::string_view name) const {
    if (!name.empty() && name.size() < by_length_.size())
      for (const auto& [known, value] : by_length_[name.size()])
        if (known.front() == name.front() && known == name) return value;
    return otherwise_;
  }

 private:
  Value otherwise_;
  std::array<std::vector<std::pair<std::string_view, Value>>, 32> by_length_;
};

const Names<Field>& fields_of_events() {
  static const Names<Field> all(Field::other, {{"args", Field::args},
                                               {"ph", Field::phase},
                                               {"cat", Field::category},
                                               {"name", Field::name},
                                               {"pid", Field::process},
                                               {"tid", Field::thread},
                                               {"ts", Field::time},
                                               {"dur", Field::duration}});
  return all;
}

const Names<Field>& fields_of_args() {
  static const Names<Field> all(Field::other, {{"stream", Field::stream},
                                               {"device", Field::device},
                                               {"correlation", Field::correlation},
                                               {"bytes", Field::bytes},
                                               {"grid", Field::grid},
                                               {"block", Field::block},
                                               {"Ev Idx", Field::number},
                                               {"Profiler Event Index", Field::number},
                                               {"Sequence number", Field::sequence},
                                               {"Fwd thread id", Field::forward_thread},
                                               {"Input Dims", Field::shapes},
                                               {"Input type", Field::types},
                                               {"Collective name", Field::collective},
                                               {"In msg nelems", Field::in_elements},
                                               {"Out msg nelems", Field::out_elements},
                                               {"dtype", Field::dtype},
                                               {"Process Group Name", Field::group},
                                               {"Process Group ID", Field::group},
                                               {"Group size", Field::group_size},
                                               {"Seq", Field::collective_sequence}});
  return all;
}

}  // namespace

Field field_of(const std::string& key, bool in_args) {
  return (in_args ? fields_of_args() : fields_of_events()).find(key);
}

void Event::clear() {
  for (auto* text : {&phase, &category, &name, &process, &thread, &shapes, &types, &collective, &dtype,
                     &group, &grid, &block})
    text->clear();
  for (auto* number_or_time : {&time, &duration, &stream, &device, &bytes, &number, &sequence,
                               &forward_thread, &in_elements, &out_elements, &group_size})
    number_or_time->reset();
  kind = Category::other;
  correlation.reset();
  collective_sequence.reset();
}

std::string* Event::text_of(Field field) {
  switch (field) {
    case Field::phase:
      return &phase;
    case Field::category:
      return &category;
    case Field::name:
      return &name;
    case Field::process:
      return &process;
    case Field::thread:
      return &thread;
    case Field::shapes:
      return &shapes;
    case Field::types:
      return &types;
    case Field::collective:
      return &collective;
    case Field::dtype:
      return &dtype;
    case Field::group:
      return &group;
    case Field::grid:
      return &grid;
    case Field::block:
      return &block;
    default:
      return nullptr;
  }
}

std::optional<std::int64_t>* Event::number_of(Field field) {
  switch (field) {
    case Field::stream:
      return &stream;
    case Field::device:
      return &device;
    case Field::bytes:
      return &bytes;
    case Field::number:
      return &number;
    case Field::sequence:
      return &sequence;
    case Field::forward_thread:
      return &forward_thread;
    case Field::in_elements:
      return &in_elements;
    case Field::out_elements:
      return &out_elements;
    case Field::group_size:
      return &group_size;
    default:
      return nullptr;
  }
}

Category category_of(const std::string& category) {
  static const Names<Category> all(Category::other, {{"kernel", Category::device},
                                                     {"Kernel", Category::device},
                                                     {"gpu_memcpy", Category::device},
                                                     {"Memcpy", Category::device},
                                                     {"gpu_memset", Category::device},
                                                     {"Memset", Category::device},
                                                     {"cuda_runtime", Category::launch},
                                                     {"cuda_driver", Category::launch},
                                                     {"Runtime", Category::launch},
                                                     {"cpu_op", Category::host},
                                                     {"Operator", Category::host},
                                                     {"user_annotation", Category::host},
                                                     {"python_function", Category::python}});
  return all.find(category);
}

bool is_bare_node(std::string_view name) {
  if (name == "torch::autograd::AccumulateGrad") return true;
  const auto last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && name.substr(0, last + 1).ends_with("Backward");
}

}  // namespace tandem::trace
