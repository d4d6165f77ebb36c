// Pixels in memory, and how they are scaled to the shape of a record. Standard library only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/data/image.hpp"

namespace tandem {

/// Row after row, the channels of a pixel next to each other.
struct Picture {
  ImageShape shape;
  std::vector<std::byte> pixels;
};

/// Scales as decode_image does with the pixels that it has read.
void fit_picture(const Picture& picture, const ImageShape& shape, std::span<std::byte> pixels);

}  // namespace tandem
