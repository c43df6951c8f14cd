"""Variants of images, made by a process of their own: what a decoder of others' bytes can do, it does to that one."""
