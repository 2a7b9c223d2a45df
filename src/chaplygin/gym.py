"""Environments for reinforcement learning, by Gymnasium's interfaces: see docs/gym.md."""

from chaplygin.runtime.hosts.gym import Env as Env, VectorEnv as VectorEnv
