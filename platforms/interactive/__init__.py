"""The interactive platform: this node, no scheduler and no container."""
