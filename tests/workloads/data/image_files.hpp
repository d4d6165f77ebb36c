// Small image files for tests: a folder with classes, as data set `folder` has them.
#pragma once

#include <turbojpeg.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "workloads/data/image.hpp"

namespace tandem::testing {

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Channel after channel: every pixel is different from its neighbours.
inline std::vector<std::byte> pattern(const ImageShape& shape, int variant = 0) {
  std::vector<std::byte> pixels;
  for (int channel = 0; channel < shape.channels; ++channel)
    for (int row = 0; row < shape.height; ++row)
      for (int column = 0; column < shape.width; ++column)
        pixels.push_back(static_cast<std::byte>((7 * row + 13 * column + 50 * channel + 31 * variant) % 256));
  return pixels;
}

/// Of pixels with three channels, which are stored next to each other.
inline std::string jpeg(int height, int width, const std::vector<unsigned char>& pixels,
                        int format = TJPF_RGB, int sampling = TJSAMP_444) {
  const std::unique_ptr<void, int (*)(void*)> writer(tjInitCompress(), tjDestroy);
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  tjCompress2(writer.get(), pixels.data(), width, 0, height, format, &encoded, &size, sampling, 95, 0);
  std::string text(reinterpret_cast<char*>(encoded), size);
  tjFree(encoded);
  return text;
}

/// train/ant, train/bee with 3 and 2 greyscale PNG of 6 x 4, test/ant, test/bee with one each.
inline void write_image_folder(const TemporaryFolder& folder) {
  const ImageShape shape{1, 6, 4};
  const auto write = [&](const std::string& name, int variant) {
    folder.write(name, text_of(encode_png(shape, pattern(shape, variant))));
  };
  write("train/bee/y.png", 3);
  write("train/bee/x.PNG", 2);
  write("train/ant/b.png", 1);
  write("train/ant/a.png", 0);
  write("train/ant/c.png", 4);
  folder.write("train/ant/notes.txt", "not an image");
  folder.write("train/.hidden/a.png", "");
  write("test/ant/t.png", 5);
  write("test/bee/t.png", 6);
}

}  // namespace tandem::testing
