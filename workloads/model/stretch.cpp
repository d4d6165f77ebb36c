#include "workloads/model/stretch.hpp"

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using compression::Part;
using compression::Stretch;

void append(Stretch& stretch, std::int64_t rows, std::int64_t columns) {
  if (rows * columns == 0) return;
  const std::int64_t begin =
      stretch.parts.empty() ? 0 : stretch.parts.back().begin + stretch.parts.back().size();
  stretch.parts.push_back({begin, rows, columns});
}

void append_square(Stretch& stretch) {
  const auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(stretch.elements)));
  const std::int64_t columns = rows == 0 ? 0 : stretch.elements / rows;
  append(stretch, rows, columns);
  append(stretch, 1, stretch.elements - rows * columns);
}

/// Elements [first, last) of a tensor with `columns` columns.
void append_rows(Stretch& stretch, std::int64_t first, std::int64_t last, std::int64_t columns) {
  const std::int64_t in_row = first % columns;
  const std::int64_t head = in_row == 0 ? 0 : std::min(last - first, columns - in_row);
  const std::int64_t rows = (last - first - head) / columns;
  append(stretch, 1, head);
  append(stretch, rows, columns);
  append(stretch, 1, last - first - head - rows * columns);
}

}  // namespace

Stretch stretch_of(const ModelDescription& model, std::int64_t begin, std::int64_t elements) {
  Stretch stretch{begin, elements, {}};
  const std::int64_t end = begin + elements;
  std::vector<const TensorDescription*> inside;
  for (const auto& tensor : model.tensors)
    if (!tensor.statistic && tensor.offset < end && tensor.offset + tensor.elements() > begin)
      inside.push_back(&tensor);
  std::sort(inside.begin(), inside.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  if (model.tensors.empty()) append_square(stretch);
  for (const auto* tensor : inside) {
    const std::int64_t first = std::max<std::int64_t>(0, begin - tensor->offset);
    const std::int64_t last = std::min(tensor->elements(), end - tensor->offset);
    const std::int64_t rows = tensor->shape.size() < 2 ? 1 : tensor->shape.front();
    append_rows(stretch, first, last, tensor->elements() / rows);
  }
  const std::int64_t covered =
      stretch.parts.empty() ? 0 : stretch.parts.back().begin + stretch.parts.back().size();
  TANDEM_CHECK(covered == elements, "parts make up", covered, "of", elements, "elements from", begin);
  return stretch;
}

}  // namespace tandem
