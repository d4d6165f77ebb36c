// JPEG and PNG images in memory: their shapes, their pixels, and how these become the pixels of a record. In
// a build without libjpeg-turbo and libspng, every function ends with an error that says so.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tandem {

struct ImageShape {
  int channels = 1;  ///< 1: grey, 3: red, green, blue
  int height = 0;
  int width = 0;
  bool operator==(const ImageShape&) const = default;
};

/// From the header. `name`: the file, for messages. Errors of all functions: ConfigError naming it, what was
/// expected and found.
ImageShape image_shape(std::span<const std::byte> encoded, const std::string& name);

/// Decodes an image to the shape, channel after channel, 8 bits per pixel and channel. Scales it so that it
/// covers the shape, with a triangle filter over all pixels that fall into one, and cuts out the centre.
/// Colours become grey by their luminance (ITU-R BT.601), grey becomes three equal channels.
void decode_image(std::span<const std::byte> encoded, const std::string& name, const ImageShape& shape,
                  std::span<std::byte> pixels);

/// A PNG of pixels that are stored channel after channel.
std::vector<std::byte> encode_png(const ImageShape& shape, std::span<const std::byte> pixels);

/// Whether this build reads and writes images.
bool has_image_libraries();

}  // namespace tandem
