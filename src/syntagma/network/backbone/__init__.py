"""Pretrained Hugging Face models, and other engines, behind the interface that search and training use."""
