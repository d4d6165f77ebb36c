// The data sets whose samples are images that are stored one by one, by name.
#pragma once

#include <string_view>

namespace tandem {

/// open_sample_set opens it.
constexpr bool stores_images(std::string_view dataset) {
  return dataset == "folder" || dataset == "shards" || dataset == "sizes";
}

}  // namespace tandem
